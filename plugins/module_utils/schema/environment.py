# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the user's file for environment variables: values, and references to Secrets and ConfigMaps. Data only."""

from __future__ import annotations

from .fields import Field

FORMS = "{secret: NAME, key: KEY} or {config_map: NAME, key: KEY}"
_KEY = Field("str", "Key that holds the value. If omitted, the name of the variable.", format="secret_key")
_REFERENCE = Field(
    "dict",
    "Where the value is: O(secret) or O(config_map), and O(key).",
    options={
        "secret": Field("str", "Name of a Secret in the namespace of the pod.", format="dns_subdomain", example="object-store"),
        "config_map": Field("str", "Name of a ConfigMap in the namespace of the pod.", format="dns_subdomain", example="proxy-settings"),
        "key": _KEY,
    },
    elsewhere=dict.fromkeys(("valueFrom", "secretKeyRef", "configMapKeyRef"), f"Write {FORMS}."),
)


def environment_field(of: str) -> Field:
    """The option `env`. of: whose variables, with a leading space, such as ` of the endpoint picker`; may be empty."""
    text = f"Additional environment variables{of}: values, or C({FORMS}) for a value in a Secret or ConfigMap."
    value = Field("str", "The value.", secret=True, otherwise=_REFERENCE)
    return Field("map", text, default={}, keys="env_name", elements=value, example={"AWS_ENDPOINT_URL": {"config_map": "object-store", "key": "endpoint"}})
