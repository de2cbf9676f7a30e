module llm_d.inference/local_cluster/pause

go 1.26.0
