// The endpoint picker of the conformance suite, fixed for proxies in full-duplex mode.
//
// The picker of 1.6.0 answers each piece of a body with an empty message, before it answers the headers. Envoy ends such a request with status 500
// (spurious_message), so no gateway with Envoy passes the suite: https://github.com/kubernetes-sigs/gateway-api-inference-extension/issues/3035.
// Version 1.6.1 fixes this, but cannot be built here. This program is 1.6.0 with fixed answers: first the answer to the headers, then the unchanged body.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"log"
	"math/big"
	"net"
	"time"

	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/common"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/common/envoy"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/lwepp/datastore"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/lwepp/handlers"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/lwepp/server"
)

// picker runs the upstream picker on streams that fix its answers.
type picker struct{ upstream *handlers.StreamingServer }

func (p *picker) Process(proxy extproc.ExternalProcessor_ProcessServer) error {
	return p.upstream.Process(&stream{ExternalProcessor_ProcessServer: proxy})
}

// stream is the exchange for one request. Upstream answers each message before it receives the next.
type stream struct {
	extproc.ExternalProcessor_ProcessServer
	received        *extproc.ProcessingRequest    // the latest message
	headersAnswered bool                          // whether the headers of the request are answered
	pending         []*extproc.ProcessingResponse // sent after the answer to the headers
}

func (s *stream) Recv() (*extproc.ProcessingRequest, error) {
	var err error
	s.received, err = s.ExternalProcessor_ProcessServer.Recv()
	return s.received, err
}

func (s *stream) Send(answer *extproc.ProcessingResponse) error {
	switch answer.Response.(type) {
	case *extproc.ProcessingResponse_RequestHeaders:
		s.headersAnswered = true
		return s.send(append([]*extproc.ProcessingResponse{answer}, s.pending...))
	case *extproc.ProcessingResponse_RequestBody:
		pieces := unchanged(s.received.GetRequestBody(), func(body *extproc.BodyResponse) *extproc.ProcessingResponse {
			return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_RequestBody{RequestBody: body}}
		})
		if !s.headersAnswered {
			s.pending = append(s.pending, pieces...)
			return nil
		}
		return s.send(pieces)
	case *extproc.ProcessingResponse_ResponseBody:
		return s.send(unchanged(s.received.GetResponseBody(), func(body *extproc.BodyResponse) *extproc.ProcessingResponse {
			return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_ResponseBody{ResponseBody: body}}
		}))
	}
	return s.send([]*extproc.ProcessingResponse{answer})
}

func (s *stream) send(answers []*extproc.ProcessingResponse) error {
	for _, answer := range answers {
		if err := s.ExternalProcessor_ProcessServer.Send(answer); err != nil {
			return err
		}
	}
	return nil
}

// unchanged returns the answers that leave a piece of a body unchanged.
func unchanged(piece *extproc.HttpBody, answer func(*extproc.BodyResponse) *extproc.ProcessingResponse) []*extproc.ProcessingResponse {
	var answers []*extproc.ProcessingResponse
	for _, part := range envoy.BuildChunkedBodyResponses(piece.GetBody(), piece.GetEndOfStream()) {
		answers = append(answers, answer(&extproc.BodyResponse{Response: part}))
	}
	return answers
}

// certificate returns a self-signed certificate. Proxies do not verify it.
func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), DNSNames: []string{"lwepp"}}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{encoded}, PrivateKey: key}, err
}

// serve answers proxies until the context is cancelled.
func serve(ctx context.Context, options *server.Options, store datastore.Datastore) error {
	var serverOptions []grpc.ServerOption
	if options.SecureServing {
		selfSigned, err := certificate()
		if err != nil {
			return err
		}
		serverOptions = append(serverOptions, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{selfSigned}, NextProtos: []string{"h2"}})))
	}
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", options.GRPCPort))
	if err != nil {
		return err
	}
	grpcServer := grpc.NewServer(serverOptions...)
	extproc.RegisterExternalProcessorServer(grpcServer, &picker{upstream: handlers.NewStreamingServer(store)})
	go func() {
		<-ctx.Done()
		grpcServer.GracefulStop()
	}()
	return grpcServer.Serve(listener)
}

func run() error {
	options, logging := server.NewOptions(), zap.Options{}
	logging.BindFlags(flag.CommandLine)
	pflag.CommandLine.AddGoFlagSet(flag.CommandLine)
	options.AddFlags(pflag.CommandLine)
	pflag.Parse()
	if err := options.Complete(); err != nil {
		return err
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))
	ctx := ctrl.SetupSignalHandler()
	clusterConfig, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	pool := common.GKNN{
		NamespacedName: types.NamespacedName{Namespace: options.PoolNamespace, Name: options.PoolName},
		GroupKind:      schema.GroupKind{Group: options.PoolGroup, Kind: "InferencePool"},
	}
	metricsOptions := metrics.Options{BindAddress: fmt.Sprintf(":%d", options.MetricsPort)}
	manager, err := server.NewDefaultManager(server.NewControllerConfig(true), pool, clusterConfig, metricsOptions)
	if err != nil {
		return err
	}
	store := datastore.NewDatastore(ctx)
	runner := &server.ExtProcServerRunner{GrpcHealthPort: options.GRPCHealthPort, GKNN: pool, Datastore: store}
	if err := runner.SetupWithManager(manager); err != nil {
		return err
	}
	ended := make(chan error, 3)
	go func() { ended <- runner.HealthServerRunnable(ctrl.Log).Start(ctx) }()
	go func() { ended <- serve(ctx, options, store) }()
	go func() { ended <- manager.Start(ctx) }()
	return <-ended
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
