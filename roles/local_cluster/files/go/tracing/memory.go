package main

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// What is kept: the latest traces, and of each no more than so many spans.
const (
	maxTraces = 2000
	maxSpans  = 500
)

type memoryConfig struct {
	// Endpoint is the address to answer on.
	Endpoint string `mapstructure:"endpoint"`
}

func newMemoryFactory() exporter.Factory {
	return exporter.NewFactory(
		component.MustNewType("memory"),
		func() component.Config { return &memoryConfig{Endpoint: ":16686"} },
		exporter.WithTraces(newMemory, component.StabilityLevelDevelopment),
	)
}

func newMemory(ctx context.Context, settings exporter.Settings, config component.Config) (exporter.Traces, error) {
	memory := &memory{endpoint: config.(*memoryConfig).Endpoint, traces: map[pcommon.TraceID]ptrace.Traces{}}
	return exporterhelper.NewTraces(
		ctx, settings, config, memory.consume,
		exporterhelper.WithStart(memory.start),
		exporterhelper.WithShutdown(memory.shutdown),
		exporterhelper.WithCapabilities(consumer.Capabilities{}),
		exporterhelper.WithQueue(configoptional.None[exporterhelper.QueueBatchConfig]()),
	)
}

type memory struct {
	endpoint string
	server   *http.Server

	lock   sync.Mutex
	traces map[pcommon.TraceID]ptrace.Traces
	order  []pcommon.TraceID // oldest first
}

func (m *memory) start(context.Context, component.Host) error {
	listener, err := net.Listen("tcp", m.endpoint)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v3/traces/{id}", m.byID)
	mux.HandleFunc("GET /api/v3/traces", m.byService)
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := m.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err)
		}
	}()
	return nil
}

func (m *memory) shutdown(ctx context.Context) error {
	if m.server == nil {
		return nil
	}
	return m.server.Shutdown(ctx)
}

// consume sorts spans by their trace, each with its resource and scope.
func (m *memory) consume(_ context.Context, traces ptrace.Traces) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, of := range traces.ResourceSpans().All() {
		for _, scoped := range of.ScopeSpans().All() {
			for _, span := range scoped.Spans().All() {
				kept := m.trace(span.TraceID())
				if kept.SpanCount() >= maxSpans {
					continue
				}
				resource := kept.ResourceSpans().AppendEmpty()
				of.Resource().CopyTo(resource.Resource())
				scope := resource.ScopeSpans().AppendEmpty()
				scoped.Scope().CopyTo(scope.Scope())
				span.CopyTo(scope.Spans().AppendEmpty())
			}
		}
	}
	return nil
}

// trace returns what is kept of a trace; where it is new, the oldest gives way.
func (m *memory) trace(id pcommon.TraceID) ptrace.Traces {
	if kept, ok := m.traces[id]; ok {
		return kept
	}
	if len(m.order) >= maxTraces {
		delete(m.traces, m.order[0])
		m.order = m.order[1:]
	}
	m.order = append(m.order, id)
	m.traces[id] = ptrace.NewTraces()
	return m.traces[id]
}

func (m *memory) byID(answer http.ResponseWriter, request *http.Request) {
	raw, err := hex.DecodeString(request.PathValue("id"))
	if err != nil || len(raw) != 16 {
		http.Error(answer, "a trace id has 32 hexadecimal digits", http.StatusBadRequest)
		return
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	kept, ok := m.traces[pcommon.TraceID(raw)]
	if !ok {
		http.Error(answer, `{"error":{"httpCode":404,"message":"No traces found"}}`, http.StatusNotFound)
		return
	}
	write(answer, kept)
}

// byService answers with the spans of one service, since the time that the query names.
func (m *memory) byService(answer http.ResponseWriter, request *http.Request) {
	since, err := time.Parse(time.RFC3339Nano, request.FormValue("query.start_time_min"))
	if err != nil {
		http.Error(answer, "query.start_time_min: "+err.Error(), http.StatusBadRequest)
		return
	}
	name, found := request.FormValue("query.service_name"), ptrace.NewTraces()
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, id := range m.order {
		for _, of := range m.traces[id].ResourceSpans().All() {
			service, ok := of.Resource().Attributes().Get("service.name")
			if ok && service.Str() == name && !of.ScopeSpans().At(0).Spans().At(0).StartTimestamp().AsTime().Before(since) {
				of.CopyTo(found.ResourceSpans().AppendEmpty())
			}
		}
	}
	write(answer, found)
}

func write(answer http.ResponseWriter, traces ptrace.Traces) {
	body, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	if err != nil {
		http.Error(answer, err.Error(), http.StatusInternalServerError)
		return
	}
	answer.Header().Set("Content-Type", "application/json")
	// A client that has gone needs no answer.
	_, _ = answer.Write([]byte(`{"result":`))
	_, _ = answer.Write(body)
	_, _ = answer.Write([]byte(`}`))
}
