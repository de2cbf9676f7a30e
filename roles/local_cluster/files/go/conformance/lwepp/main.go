// The endpoint picker of the conformance suite, as a proxy in full-duplex mode can understand it.
//
// That of 1.6.0 answers each piece of a body with an empty message, before it answers the headers. Envoy ends such a request with status 500
// (spurious_message), so no gateway with Envoy passes the suite: https://github.com/kubernetes-sigs/gateway-api-inference-extension/issues/3035. Its 1.6.1
// answers otherwise, which cannot be built here. This is 1.6.0 with its answers put right: bodies come back as they were, after the answer to the headers.
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

// picker is upstream's, on streams that put its answers right.
type picker struct{ upstream *handlers.StreamingServer }

func (p *picker) Process(proxy extproc.ExternalProcessor_ProcessServer) error {
	return p.upstream.Process(&stream{ExternalProcessor_ProcessServer: proxy})
}

// stream is the exchange about one request. Upstream answers each message before it receives the next.
type stream struct {
	extproc.ExternalProcessor_ProcessServer
	asked    *extproc.ProcessingRequest
	answered bool                          // whether the request's headers are
	waiting  []*extproc.ProcessingResponse // for that
}

func (s *stream) Recv() (*extproc.ProcessingRequest, error) {
	var err error
	s.asked, err = s.ExternalProcessor_ProcessServer.Recv()
	return s.asked, err
}

func (s *stream) Send(answer *extproc.ProcessingResponse) error {
	switch answer.Response.(type) {
	case *extproc.ProcessingResponse_RequestHeaders:
		s.answered = true
		return s.send(append([]*extproc.ProcessingResponse{answer}, s.waiting...))
	case *extproc.ProcessingResponse_RequestBody:
		pieces := asItWas(s.asked.GetRequestBody(), func(body *extproc.BodyResponse) *extproc.ProcessingResponse {
			return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_RequestBody{RequestBody: body}}
		})
		if !s.answered {
			s.waiting = append(s.waiting, pieces...)
			return nil
		}
		return s.send(pieces)
	case *extproc.ProcessingResponse_ResponseBody:
		return s.send(asItWas(s.asked.GetResponseBody(), func(body *extproc.BodyResponse) *extproc.ProcessingResponse {
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

// asItWas are the answers that leave a piece of a body unchanged.
func asItWas(piece *extproc.HttpBody, answer func(*extproc.BodyResponse) *extproc.ProcessingResponse) []*extproc.ProcessingResponse {
	var answers []*extproc.ProcessingResponse
	for _, part := range envoy.BuildChunkedBodyResponses(piece.GetBody(), piece.GetEndOfStream()) {
		answers = append(answers, answer(&extproc.BodyResponse{Response: part}))
	}
	return answers
}

// certificate is one for itself, which proxies do not verify.
func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	facts := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), DNSNames: []string{"lwepp"}}
	written, err := x509.CreateCertificate(rand.Reader, facts, facts, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{written}, PrivateKey: key}, err
}

// serve answers proxies until the context ends.
func serve(ctx context.Context, options *server.Options, store datastore.Datastore) error {
	var with []grpc.ServerOption
	if options.SecureServing {
		own, err := certificate()
		if err != nil {
			return err
		}
		with = append(with, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{"h2"}})))
	}
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", options.GRPCPort))
	if err != nil {
		return err
	}
	proxies := grpc.NewServer(with...)
	extproc.RegisterExternalProcessorServer(proxies, &picker{upstream: handlers.NewStreamingServer(store)})
	go func() {
		<-ctx.Done()
		proxies.GracefulStop()
	}()
	return proxies.Serve(listener)
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
	api, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	pool := common.GKNN{
		NamespacedName: types.NamespacedName{Namespace: options.PoolNamespace, Name: options.PoolName},
		GroupKind:      schema.GroupKind{Group: options.PoolGroup, Kind: "InferencePool"},
	}
	scraped := metrics.Options{BindAddress: fmt.Sprintf(":%d", options.MetricsPort)}
	manager, err := server.NewDefaultManager(server.NewControllerConfig(true), pool, api, scraped)
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
