# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: go_build
short_description: Build binaries from pinned Go modules when their inputs change
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Builds programs from folders that hold a C(go.mod) and a C(go.sum), and copies files such as charts and
    CustomResourceDefinitions out of the Go modules named there.
  - Each result has a stamp with the hash of its inputs (sources, versions of modules, flags, compiler), so a second run does nothing.
  - Runs on the control node and displays its progress.
options:
  cache:
    description: Folder for the results, C(bin/NAME) and C(assets/DEST).
    type: path
    required: true
  go_minimum:
    description: Minimum version of Go, such as V(1.26.7).
    type: str
    required: true
  go_candidates:
    description: Names or paths of Go commands, in order of preference.
    type: list
    elements: str
    default: [go, /usr/local/go/bin/go]
  gcflags:
    description:
      - Flags for the compiler, each in the form of C(go build -gcflags), such as V(k8s.io/...=-l). For a package, the last whose pattern matches applies.
      - They are the same for all programs, so that each library is compiled once.
    type: list
    elements: str
    default: []
  binaries:
    description: Programs to build.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Its name in the cache.
        type: str
        required: true
      source:
        description: Folder with the C(go.mod).
        type: path
        required: true
      package:
        description: Package to build, in that folder or in a module named there.
        type: str
        default: .
      ldflags:
        description: Flags for the linker.
        type: str
        default: -s -w
  assets:
    description: Files or folders to copy out of Go modules.
    type: list
    elements: dict
    default: []
    suboptions:
      source:
        description: Folder with the C(go.mod) that names the module.
        type: path
        required: true
      module:
        description: The module.
        type: str
        required: true
      path:
        description: File or folder in the module.
        type: str
        required: true
      dest:
        description: Destination below C(assets) in the cache.
        type: str
        required: true
      template:
        description: File below the path in which C(${names}) are replaced; C(.tmpl) is removed from its name. Empty for none.
        type: str
        default: ''
      substitute:
        description: Values of the names.
        type: dict
        default: {}
attributes:
  check_mode:
    description: Returns what would be built.
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.no_diff
  - llm_d.inference.attributes
"""

EXAMPLES = r"""
- name: Build the endpoint picker
  llm_d.inference.go_build:
    cache: /var/cache/llm-d-local
    go_minimum: 1.26.7
    binaries:
      - name: epp
        source: "{{ role_path }}/files/go/scheduler"
        package: github.com/llm-d/llm-d-inference-scheduler/cmd/epp
"""

RETURN = r"""
built:
  description: Names of the programs that were built.
  returned: always
  type: list
  elements: str
  sample: [epp]
copied:
  description: Destinations of the assets that were copied.
  returned: always
  type: list
  elements: str
  sample: [crds/inference-extension]
binaries:
  description: Path of each program.
  returned: always
  type: dict
  sample: {epp: /var/cache/llm-d-local/bin/epp}
go_version:
  description: Version of the compiler used.
  returned: always
  type: str
  sample: go1.26.8
"""
