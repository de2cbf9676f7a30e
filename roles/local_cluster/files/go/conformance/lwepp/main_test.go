package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/lwepp/datastore"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/lwepp/handlers"
)

// onePod is a pool with one model server.
type onePod struct{}

func (onePod) PoolGet() (*datastore.EndpointPool, error) { return nil, nil }

func (onePod) PodList(func(*datastore.Endpoint) bool) []*datastore.Endpoint {
	return []*datastore.Endpoint{{Address: "10.0.0.1", Port: "3000"}}
}

// proxy sends the messages of `sent` and records the answers.
type proxy struct {
	grpc.ServerStream
	sent    []*extproc.ProcessingRequest
	answers []string
}

func (p *proxy) Context() context.Context { return context.Background() }

func (p *proxy) Recv() (*extproc.ProcessingRequest, error) {
	if len(p.sent) == 0 {
		return nil, io.EOF
	}
	next := p.sent[0]
	p.sent = p.sent[1:]
	return next, nil
}

func (p *proxy) Send(answer *extproc.ProcessingResponse) error {
	switch kind := answer.Response.(type) {
	case *extproc.ProcessingResponse_RequestHeaders:
		p.answers = append(p.answers, "request headers")
	case *extproc.ProcessingResponse_RequestBody:
		p.answers = append(p.answers, "request "+text(kind.RequestBody))
	case *extproc.ProcessingResponse_ResponseHeaders:
		p.answers = append(p.answers, "response headers")
	case *extproc.ProcessingResponse_ResponseBody:
		p.answers = append(p.answers, "response "+text(kind.ResponseBody))
	}
	return nil
}

// text describes a piece of a body in full-duplex mode. Envoy refuses "nothing".
func text(body *extproc.BodyResponse) string {
	piece := body.GetResponse().GetBodyMutation().GetStreamedResponse()
	if piece == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %t", piece.Body, piece.EndOfStream)
}

func headers(end bool) *extproc.ProcessingRequest {
	message := &extproc.HttpHeaders{Headers: &core.HeaderMap{}, EndOfStream: end}
	return &extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_RequestHeaders{RequestHeaders: message}}
}

func request(content string, end bool) *extproc.ProcessingRequest {
	body := &extproc.HttpBody{Body: []byte(content), EndOfStream: end}
	return &extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_RequestBody{RequestBody: body}}
}

func response(content string, end bool) *extproc.ProcessingRequest {
	body := &extproc.HttpBody{Body: []byte(content), EndOfStream: end}
	return &extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_ResponseBody{ResponseBody: body}}
}

func expect(t *testing.T, sent []*extproc.ProcessingRequest, answers ...string) {
	t.Helper()
	peer := &proxy{sent: sent}
	if err := (&picker{upstream: handlers.NewStreamingServer(onePod{})}).Process(peer); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(peer.answers, answers) {
		t.Fatalf("answers %q, expected %q", peer.answers, answers)
	}
}

func TestBodiesAreReturnedAfterTheAnswerToTheHeaders(t *testing.T) {
	responseHeaders := &extproc.ProcessingRequest{Request: &extproc.ProcessingRequest_ResponseHeaders{ResponseHeaders: &extproc.HttpHeaders{}}}
	expect(t,
		[]*extproc.ProcessingRequest{
			headers(false), request("a", false), request("b", false), request("", true), responseHeaders, response("c", false), response("d", true),
		},
		"request headers", "request a false", "request b false", "request  true", "response headers", "response c false", "response d true",
	)
}

func TestARequestWithoutABodyIsAnsweredOnce(t *testing.T) {
	expect(t, []*extproc.ProcessingRequest{headers(true)}, "request headers")
}
