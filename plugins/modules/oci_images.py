# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: oci_images
short_description: Assemble images from files of this host into a registry on it
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Makes images of one layer, or of one more layer on another image of the registry, from files of this host with C(crane), without a container engine.
  - An image is made again only when its inputs changed or the registry no longer has it.
attributes:
  check_mode:
    description: Returns which images would be made.
  platform:
    platforms: linux
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.options.oci_images
  - llm_d.inference.attributes.no_diff
  - llm_d.inference.attributes
"""

EXAMPLES = r"""
- name: Make the image of the endpoint picker
  llm_d.inference.oci_images:
    registry: 127.0.0.1:5215
    crane: /var/cache/llm-d-local/bin/crane
    blobs: /var/cache/llm-d-local/registry
    stamps: /var/cache/llm-d-local/stamps/images
    images:
      - name: llm-d/llm-d-inference-scheduler:v0.7.1
        files: {/app/epp: /var/cache/llm-d-local/bin/epp}
        entrypoint: [/app/epp]
"""

RETURN = r"""
made:
  description: Names of the images that were made.
  returned: always
  type: list
  elements: str
  sample: [llm-d/llm-d-inference-scheduler:v0.7.1]
"""

import glob
import os
import subprocess

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.module_options import argument_spec
from ..module_utils.local_cluster.oci_image import Image, Registry
from ..module_utils.local_cluster.options import OCI_IMAGES

STARTS = 60.0  # seconds in which a registry answers that has just been started, and whose program is read from a slow disk


def resolved(files: dict) -> dict:
    """The files with patterns replaced by the file they match; a pattern without a match stays, to be reported."""
    return {target: next(iter(glob.glob(source)), source) for target, source in files.items()}


def main() -> None:
    module = AnsibleModule(argument_spec(OCI_IMAGES), supports_check_mode=True)
    options = module.params
    images = [Image(**{**each, "files": resolved(each["files"]), "python": each["python"] or "", "base": each["base"] or ""}) for each in options["images"]]
    registry = Registry(options["registry"], options["crane"], options["blobs"], options["stamps"], 0.0 if module.check_mode else STARTS)
    stale: list[Image] = []
    try:
        for each in images:
            if not registry.holds(each) or each.base in [below.name for below in stale]:
                stale.append(each)
        absent = sorted({path for each in stale for path in each.missing()})
        if absent and not module.check_mode:
            module.fail_json(msg=f"These files of images are missing: {', '.join(absent)}. Build them first (llm_d.inference.go_build).")
        if not module.check_mode:
            os.makedirs(options["stamps"], exist_ok=True)
            for each in stale:
                registry.push(each)
    except subprocess.CalledProcessError as error:
        module.fail_json(msg=f"crane failed: {(error.stderr or error.stdout).strip()[-500:]}")
    except OSError as error:
        if module.check_mode:  # before the first start there is no registry
            module.exit_json(changed=True, made=[each.name for each in images])
        module.fail_json(msg=f"The registry at {options['registry']} does not answer: {error}. Is the local cluster's supervisor running?")
    module.exit_json(changed=bool(stale), made=[each.name for each in stale])


if __name__ == "__main__":
    main()
