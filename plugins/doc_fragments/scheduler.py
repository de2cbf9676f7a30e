# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that say how an endpoint picker decides, as the user's file has them."""

from __future__ import annotations

import json

from ..module_utils.schema.fields import argument_type
from ..module_utils.schema.scheduler import DECIDING


class ModuleDocFragment:
    """DOCUMENTATION: every option of DECIDING."""

    DOCUMENTATION = json.dumps({"options": {name: {"description": field.description, **argument_type(field)} for name, field in DECIDING.items()}})
