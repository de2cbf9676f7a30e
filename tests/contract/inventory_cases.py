"""The inventories that users edit, and all objects that the roles render from them."""

from __future__ import annotations

from plugins.plugin_utils.planning import TEMPLATES
from tools.manifests import ROOT, case, names

__all__ = ["NAMES", "ROOT", "TEMPLATES", "case"]

# `local` is deployed for real by molecule, and names variables of the local cluster.
NAMES = [name for name in names() if name != "local"]
