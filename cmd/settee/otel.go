package main

import (
	"crypto/rand"
	"log/slog"
	"net/http"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/tracing"
	"github.com/settee-db/settee/tracing/otlp"
)

// openTracing begins to send traces to the collector that [otel] names. Without one it returns nil,
// and nothing of the server knows of traces.
func openTracing(c *config.Config, instance string, log *slog.Logger) (*otlp.Exporter, error) {
	endpoint := c.String("otel", "endpoint")
	if endpoint == "" {
		return nil, nil
	}
	u, err := otlp.ParseEndpoint(endpoint)
	if err != nil {
		return nil, mend(c, "[otel] endpoint", err)
	}
	key := []byte(c.String("chttpd_auth", "secret"))
	if len(key) == 0 {
		key = []byte(rand.Text())
	}
	return otlp.New(otlp.Options{
		Endpoint: u, Service: c.String("otel", "service_name"), Version: release, Instance: instance,
		Headers: func() http.Header { return otlp.ParseHeaders(c.String("otel", "headers")) },
		Ratio:   func() float64 { return otlp.ParseRatio(c.String("otel", "sample_ratio")) },
		Names:   func() bool { return c.Bool("otel", "names") },
		Key:     key, Log: log,
	}), nil
}

// tracer is what begins traces; nil: nobody sends them.
func (a *app) tracer() *tracing.Tracer {
	if a.traces == nil {
		return nil
	}
	return a.traces.Tracer()
}
