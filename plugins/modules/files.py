# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: files
short_description: Write several files, folders and links in one step
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Writes several files with one process instead of one per file.
  - Each file is replaced atomically.
options:
  directories:
    description: Folders to create, with their parents. If one of them exists and is not writable, the task fails before anything is written.
    type: list
    elements: path
    default: []
  links:
    description: Symbolic links to create, all to O(link_target).
    type: list
    elements: path
    default: []
  link_target:
    description: The target of the links.
    type: path
  files:
    description: The files.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: Path of the file. Its folder is created.
        type: path
        required: true
      content:
        description: Content of the file.
        type: str
        required: true
attributes:
  check_mode:
    description: Returns what would be written.
  diff_mode:
    description: Shows each file before and after.
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes
"""

EXAMPLES = r"""
- name: Write the components' configuration
  llm_d.inference.files:
    directories: [/var/lib/llm-d-local/logs]
    files:
      - path: /var/lib/llm-d-local/config/Corefile
        content: "{{ lookup('ansible.builtin.template', 'Corefile.j2') }}"
"""

RETURN = r"""
written:
  description: Paths that were created or replaced.
  returned: always
  type: list
  elements: str
  sample: [/var/lib/llm-d-local/config/Corefile]
"""

import os
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule


def read(path: Path) -> str:
    """The content of a file, for a diff; empty where there is no file."""
    return path.read_bytes().decode(errors="replace") if path.is_file() else ""


def write(path: Path, content: str) -> None:
    """Create or replace a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name("." + path.name)
    partial.write_bytes(content.encode())
    partial.replace(path)


def link(path: Path, target: str) -> None:
    """Create a symbolic link to the target, or put it atomically in place of a file or another link."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name("." + path.name)
    partial.unlink(missing_ok=True)
    partial.symlink_to(target)
    partial.replace(path)


def write_all(folders: list[Path], links: list[Path], target: str, files: list[tuple[Path, str]]) -> None:
    """Create the folders, the links, all to one target, and the files: (path, content). Raises OSError at the first that fails."""
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    for path in links:
        link(path, target)
    for path, content in files:
        write(path, content)


def main() -> None:
    file = {"path": {"type": "path", "required": True}, "content": {"type": "str", "required": True}}
    module = AnsibleModule(
        argument_spec={
            "directories": {"type": "list", "elements": "path", "default": []},
            "links": {"type": "list", "elements": "path", "default": []},
            "link_target": {"type": "path"},
            "files": {"type": "list", "elements": "dict", "default": [], "options": file},
        },
        supports_check_mode=True,
    )
    options = module.params
    if options["links"] and not options["link_target"]:
        module.fail_json(msg="links needs link_target, the path that the links point to.")
    folders = [Path(each) for each in options["directories"] if not Path(each).is_dir()]
    links = [Path(each) for each in options["links"] if not Path(each).is_symlink() or os.readlink(each) != options["link_target"]]
    files = [(Path(each["path"]), each["content"]) for each in options["files"]]
    stale = [(path, content) for path, content in files if not path.is_file() or path.read_bytes() != content.encode()]
    # Only if a diff is requested: AWX stores the returned diff in the events of the job, even where Ansible does not display it.
    diffed = stale if module._diff else []
    diff = [{"before": read(path), "after": content, "before_header": str(path), "after_header": str(path)} for path, content in diffed]
    unwritable = [each for each in options["directories"] if Path(each).is_dir() and not os.access(each, os.W_OK | os.X_OK)]
    if unwritable:
        module.fail_json(msg=f"Cannot write into {unwritable[0]}. Check who owns the folder, and whether its file system is read-only.")
    try:
        if not module.check_mode:
            write_all(folders, links, options["link_target"], stale)
    except OSError as error:
        module.fail_json(
            msg=f"Cannot write {error.filename2 or error.filename or 'all files'}: {error.strerror}. Check the owner and the contents of the folder."
        )
    written = [str(path) for path in [*folders, *links, *(path for path, _content in stale)]]
    module.exit_json(changed=bool(written), written=written, diff=diff)


if __name__ == "__main__":
    main()
