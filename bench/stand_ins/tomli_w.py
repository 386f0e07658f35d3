"""Writes the TOML of a configuration, for a machine without tomli_w (see gpu.sh): sections of plain values."""

from __future__ import annotations

import json
from typing import Any


def dumps(values: dict[str, Any], section: str = "") -> str:
    tables = {key: value for key, value in values.items() if isinstance(value, dict)}
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in values.items() if key not in tables]
    for key, value in tables.items():
        lines.append(f"\n[{section}{key}]\n" + dumps(value, f"{section}{key}."))
    return "".join(lines)
