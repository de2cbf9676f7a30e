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

// The memory keeps the latest maxTraces traces, and up to maxSpans spans of each.
const (
	maxTraces = 2000
	maxSpans  = 500
)

type memoryConfig struct {
	// Endpoint is the address that the HTTP server listens on.
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

// consume adds each span to its trace, with its resource and scope.
func (m *memory) consume(_ context.Context, traces ptrace.Traces) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, resourceSpans := range traces.ResourceSpans().All() {
		for _, scopeSpans := range resourceSpans.ScopeSpans().All() {
			for _, span := range scopeSpans.Spans().All() {
				stored := m.trace(span.TraceID())
				if stored.SpanCount() >= maxSpans {
					continue
				}
				resource := stored.ResourceSpans().AppendEmpty()
				resourceSpans.Resource().CopyTo(resource.Resource())
				scope := resource.ScopeSpans().AppendEmpty()
				scopeSpans.Scope().CopyTo(scope.Scope())
				span.CopyTo(scope.Spans().AppendEmpty())
			}
		}
	}
	return nil
}

// trace returns the stored spans of a trace. A new trace replaces the oldest one when the memory is full.
func (m *memory) trace(id pcommon.TraceID) ptrace.Traces {
	if stored, ok := m.traces[id]; ok {
		return stored
	}
	if len(m.order) >= maxTraces {
		delete(m.traces, m.order[0])
		m.order = m.order[1:]
	}
	m.order = append(m.order, id)
	m.traces[id] = ptrace.NewTraces()
	return m.traces[id]
}

func (m *memory) byID(writer http.ResponseWriter, request *http.Request) {
	raw, err := hex.DecodeString(request.PathValue("id"))
	if err != nil || len(raw) != 16 {
		http.Error(writer, "a trace id has 32 hexadecimal digits", http.StatusBadRequest)
		return
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	stored, ok := m.traces[pcommon.TraceID(raw)]
	if !ok {
		http.Error(writer, `{"error":{"httpCode":404,"message":"No traces found"}}`, http.StatusNotFound)
		return
	}
	write(writer, stored)
}

// byService returns the spans of one service that start at query.start_time_min or later.
func (m *memory) byService(writer http.ResponseWriter, request *http.Request) {
	since, err := time.Parse(time.RFC3339Nano, request.FormValue("query.start_time_min"))
	if err != nil {
		http.Error(writer, "query.start_time_min: "+err.Error(), http.StatusBadRequest)
		return
	}
	name, result := request.FormValue("query.service_name"), ptrace.NewTraces()
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, id := range m.order {
		for _, resourceSpans := range m.traces[id].ResourceSpans().All() {
			service, ok := resourceSpans.Resource().Attributes().Get("service.name")
			if ok && service.Str() == name && !resourceSpans.ScopeSpans().At(0).Spans().At(0).StartTimestamp().AsTime().Before(since) {
				resourceSpans.CopyTo(result.ResourceSpans().AppendEmpty())
			}
		}
	}
	write(writer, result)
}

func write(writer http.ResponseWriter, traces ptrace.Traces) {
	body, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusInternalServerError)
		return
	}
	writer.Header().Set("Content-Type", "application/json")
	// If a write fails, the client has disconnected.
	_, _ = writer.Write([]byte(`{"result":`))
	_, _ = writer.Write(body)
	_, _ = writer.Write([]byte(`}`))
}
