package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"
	"unicode/utf8"

	"github.com/llm-d/llm-d-inference-sim/pkg/api"
	"github.com/llm-d/llm-d-inference-sim/pkg/tokenizer"
	pb "github.com/llm-d/llm-d-kv-cache/api/tokenizerpb"
)

// service uses one tokenizer for all models, as the simulator does.
type service struct {
	pb.UnimplementedTokenizationServiceServer
	tokenizer tokenizer.Tokenizer
}

func (s *service) InitializeTokenizer(_ context.Context, request *pb.InitializeTokenizerRequest) (*pb.InitializeTokenizerResponse, error) {
	log.Printf("tokenizer of %q requested", request.GetModelName())
	return &pb.InitializeTokenizerResponse{Success: true}, nil
}

func (s *service) Tokenize(_ context.Context, request *pb.TokenizeRequest) (*pb.TokenizeResponse, error) {
	ids, tokens, err := s.tokenizer.RenderText(request.GetInput())
	if err != nil {
		return nil, err
	}
	return &pb.TokenizeResponse{InputIds: ids, OffsetPairs: offsets(request.GetInput(), tokens), Success: true}, nil
}

func (s *service) RenderCompletion(_ context.Context, request *pb.RenderCompletionRequest) (*pb.RenderCompletionResponse, error) {
	ids, _, err := s.tokenizer.RenderText(request.GetPrompt())
	if err != nil {
		return nil, err
	}
	return &pb.RenderCompletionResponse{TokenIds: ids, Success: true}, nil
}

func (s *service) RenderChatCompletion(_ context.Context, request *pb.RenderChatCompletionRequest) (*pb.RenderChatCompletionResponse, error) {
	messages := make([]api.Message, len(request.GetMessages()))
	for i, each := range request.GetMessages() {
		message, err := fromProto(each)
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		messages[i] = message
	}
	ids, _, features, err := s.tokenizer.RenderMessages(messages)
	if err != nil {
		return nil, err
	}
	return &pb.RenderChatCompletionResponse{TokenIds: ids, Features: toProto(features), Success: true}, nil
}

// fromProto converts a message to the form that the simulator reads from a request body.
func fromProto(each *pb.ChatMessage) (api.Message, error) {
	message := api.Message{Role: each.GetRole(), Content: api.ChatComplContent{Raw: each.GetContent()}}
	for _, part := range each.GetContentParts() {
		block := api.ChatComplContentBlock{Type: part.GetType(), Text: part.GetText()}
		if part.GetImageUrl() != nil {
			block.ImageURL = &api.ChatComplImageBlock{Url: part.GetImageUrl().GetUrl()}
		}
		message.Content.Structured = append(message.Content.Structured, block)
	}
	if calls := each.GetToolCallsJson(); calls != "" {
		if err := json.Unmarshal([]byte(calls), &message.ToolCalls); err != nil {
			return message, fmt.Errorf("tool_calls_json: %w", err)
		}
	}
	return message, nil
}

// toProto converts the hashes of images. The picker and the servers include them in the hash of a block.
func toProto(features *api.RenderMMFeatures) *pb.MultiModalFeatures {
	if features == nil {
		return nil
	}
	result := &pb.MultiModalFeatures{MmHashes: map[string]*pb.StringList{}, MmPlaceholders: map[string]*pb.PlaceholderRangeList{}}
	for modality, hashes := range features.MMHashes {
		result.MmHashes[modality] = &pb.StringList{Values: hashes}
	}
	for modality, ranges := range features.MMPlaceholders {
		list := &pb.PlaceholderRangeList{}
		for _, each := range ranges {
			list.Ranges = append(list.Ranges, &pb.PlaceholderRange{Offset: int32(each.Offset), Length: int32(each.Length)})
		}
		result.MmPlaceholders[modality] = list
	}
	return result
}

// offsets returns the start and the end of each token, in characters. Some characters belong to no token.
func offsets(text string, tokens []string) []uint32 {
	var pairs []uint32
	position := uint32(0)
	for _, token := range tokens {
		before, after, _ := strings.Cut(text, token)
		start := position + uint32(utf8.RuneCountInString(before))
		position = start + uint32(utf8.RuneCountInString(token))
		pairs = append(pairs, start, position)
		text = after
	}
	return pairs
}
