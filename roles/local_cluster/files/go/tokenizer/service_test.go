package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pb "github.com/llm-d/llm-d-kv-cache/api/tokenizerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const model = "llama-8b"

// client returns a client that connects over a Unix socket, as the endpoint picker does.
func client(t *testing.T) pb.TokenizationServiceClient {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "tokenizer.socket")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := newServer()
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(maxMessage), grpc.MaxCallRecvMsgSize(maxMessage)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return pb.NewTokenizationServiceClient(connection)
}

// simulator starts the real simulator. It returns a function that posts a body to /tokenize and returns the token IDs.
func simulator(t *testing.T) func(body string) []uint32 {
	t.Helper()
	binary := os.Getenv("LLM_D_SIMULATOR_BINARY")
	if binary == "" {
		t.Skip("LLM_D_SIMULATOR_BINARY is not set")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	command := exec.Command(binary, "--model", model, "--force-dummy-tokenizer", "--port", address[strings.LastIndex(address, ":")+1:])
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if response, err := http.Get("http://" + address + "/health"); err == nil {
			_ = response.Body.Close()
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the simulator does not answer: %v", err)
		}
	}
	return func(body string) []uint32 {
		t.Helper()
		response, err := http.Post("http://"+address+"/tokenize", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		var answer struct{ Tokens []uint32 }
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v", body, response.Status, err)
		}
		return answer.Tokens
	}
}

func text(value string) *string { return &value }

var prompts = []string{
	"one two  three", "Who wrote \"Faust\"? {json: [1, 2]}", "Grüße, 世界 — naïve café!", "\n\ttabs and\nlines\n",
	strings.Repeat("The quick brown fox jumps over the lazy dog. ", 4000),
}

func TestPromptsAreTokenizedLikeTheSimulator(t *testing.T) {
	sidecar, simulated := client(t), simulator(t)
	for _, prompt := range prompts {
		body, _ := json.Marshal(map[string]string{"model": model, "prompt": prompt})
		want := simulated(string(body))
		rendered, err := sidecar.RenderCompletion(context.Background(), &pb.RenderCompletionRequest{ModelName: model, Prompt: prompt})
		if err != nil || !rendered.Success || !slices.Equal(rendered.TokenIds, want) {
			t.Errorf("RenderCompletion(%.30q): %d ids instead of the simulator's %d, %v", prompt, len(rendered.GetTokenIds()), len(want), err)
		}
		tokenized, err := sidecar.Tokenize(context.Background(), &pb.TokenizeRequest{ModelName: model, Input: prompt})
		if err != nil || !tokenized.Success || !slices.Equal(tokenized.InputIds, want) {
			t.Errorf("Tokenize(%.30q): %d ids instead of the simulator's %d, %v", prompt, len(tokenized.GetInputIds()), len(want), err)
		}
	}
}

func TestChatsAreTokenizedLikeTheSimulator(t *testing.T) {
	sidecar, simulated := client(t), simulator(t)
	calls := `[{"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1}"}}]`
	image := &pb.ContentPart{Type: "image_url", ImageUrl: &pb.ImageUrl{Url: "data:image/png;base64,AAAA"}}
	for body, messages := range map[string][]*pb.ChatMessage{
		`[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello, who are you?"}]`: {
			{Role: "system", Content: text("Be brief.")}, {Role: "user", Content: text("Hello, who are you?")},
		},
		`[{"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}]`: {
			{Role: "user", ContentParts: []*pb.ContentPart{{Type: "text", Text: text("What is this?")}, image}},
		},
		`[{"role": "user", "content": "Add one."}, {"role": "assistant", "tool_calls": ` + calls + `}]`: {
			{Role: "user", Content: text("Add one.")}, {Role: "assistant", ToolCallsJson: text(calls)},
		},
	} {
		want := simulated(`{"model": "` + model + `", "messages": ` + body + `}`)
		rendered, err := sidecar.RenderChatCompletion(context.Background(), &pb.RenderChatCompletionRequest{ModelName: model, Messages: messages})
		if err != nil || !rendered.Success || !slices.Equal(rendered.TokenIds, want) || len(want) < 5 {
			t.Errorf("%s: %v instead of the simulator's %v, %v", body, rendered.GetTokenIds(), want, err)
		}
		if hasImage := strings.Contains(body, "image_url"); (len(rendered.GetFeatures().GetMmHashes()["image"].GetValues()) == 1) != hasImage {
			t.Errorf("%s: features %v", body, rendered.GetFeatures())
		}
	}
}

func TestAnInitializedTokenizerIsReady(t *testing.T) {
	answer, err := client(t).InitializeTokenizer(context.Background(), &pb.InitializeTokenizerRequest{ModelName: model})
	if err != nil || !answer.Success {
		t.Errorf("%v, %v", answer, err)
	}
}

func TestOffsetsCountCharacters(t *testing.T) {
	answer, err := client(t).Tokenize(context.Background(), &pb.TokenizeRequest{Input: "né two; é  end"})
	// This tokenizer knows only ASCII words: an é belongs to no token, and counts as one character.
	if want := []uint32{0, 1, 3, 6, 6, 8, 11, 14}; err != nil || !slices.Equal(answer.GetOffsetPairs(), want) {
		t.Errorf("%v instead of %v, %v", answer.GetOffsetPairs(), want, err)
	}
}

func TestALongPromptIsAccepted(t *testing.T) {
	prompt := string(bytes.Repeat([]byte("word "), 1<<20)) // 5 MiB, more than gRPC's default
	answer, err := client(t).RenderCompletion(context.Background(), &pb.RenderCompletionRequest{Prompt: prompt})
	if err != nil || len(answer.TokenIds) != 1<<20 {
		t.Errorf("%d ids, %v", len(answer.GetTokenIds()), err)
	}
}

func TestInvalidToolCallsAreReported(t *testing.T) {
	_, err := client(t).RenderChatCompletion(context.Background(), &pb.RenderChatCompletionRequest{
		Messages: []*pb.ChatMessage{{Role: "user", Content: text("a")}, {Role: "assistant", ToolCallsJson: text("{")}},
	})
	if err == nil || !strings.Contains(err.Error(), "messages[1]: tool_calls_json") {
		t.Errorf("%v", err)
	}
}
