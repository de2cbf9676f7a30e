// Tokenizer is the sidecar that gives an endpoint picker token IDs. It uses the
// offline tokenizer of the simulator: precise prefix routing compares hashes of
// token IDs, so the picker needs the same IDs as the KV events of the servers.
// Socket, port and health path are those of the upstream tokenizer, which needs a model hub.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/llm-d/llm-d-inference-sim/pkg/tokenizer"
	pb "github.com/llm-d/llm-d-kv-cache/api/tokenizerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// The limit of the endpoint picker. A long chat is larger than gRPC's default of 4 MiB.
const maxMessage = 100 << 20

// newServer returns the gRPC server. It accepts the picker's pings while no request is in flight.
func newServer() *grpc.Server {
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage), grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{PermitWithoutStream: true}))
	pb.RegisterTokenizationServiceServer(server, &service{tokenizer: tokenizer.NewSimpleTokenizer()})
	return server
}

func run(socket, health string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// A restarted container finds the socket of its previous run.
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server, failed := newServer(), make(chan error, 2)
	http.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	go func() { failed <- server.Serve(listener) }()
	go func() { failed <- http.ListenAndServe(health, nil) }()
	log.Printf("tokenizing on %s, healthy on %s/healthz", socket, health)
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	server.GracefulStop()
	return err
}

func main() {
	socket := flag.String("socket", "/tmp/tokenizer/tokenizer-uds.socket", "Unix socket to serve the TokenizationService on")
	health := flag.String("health", ":8082", "address to serve /healthz on")
	flag.Parse()
	if err := run(*socket, *health); err != nil {
		log.Fatal(err)
	}
}
