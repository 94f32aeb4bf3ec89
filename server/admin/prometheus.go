package admin

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
)

// newMetrics makes the registry that _prometheus shows: CouchDB's statistics, the system's, and
// those of the Go process.
//
// Other packages' collectors come on top; their names begin with settee_.
func (h *Handlers) newMetrics(others []prometheus.Collector) (*prometheus.Registry, error) {
	r := prometheus.NewRegistry()
	r.MustRegister(h.env.Stats, systemCollector{h}, warningCollector{h},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if h.cluster != nil {
		r.MustRegister(h.cluster)
	}
	for _, other := range others {
		if err := r.Register(other); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	return r, nil
}

// getPrometheus answers the metrics in Prometheus' text form.
func (h *Handlers) getPrometheus(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	text, err := h.prometheusText()
	if err != nil {
		return err
	}
	c.SetHeader("Content-Type", prometheusType)
	return c.Bytes(http.StatusOK, text)
}

// prometheusType is the Content-Type of the metrics.
const prometheusType = "text/plain; version=2.0"

// prometheusText gathers the metrics.
func (h *Handlers) prometheusText() ([]byte, error) {
	h.takeStats()
	families, err := h.metrics.Gather()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	encoder := expfmt.NewEncoder(&b, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// ServeMetrics answers the additional port of Prometheus (couch_prometheus_http):
// /_node/{node}/_prometheus without a login, whatever the method, and nothing else.
func (h *Handlers) ServeMetrics(w http.ResponseWriter, r *http.Request) {
	w.Header()["Server"] = h.env.Settings().Server
	status, kind, body := http.StatusOK, "application/json", []byte(nil)
	segments := strings.FieldsFunc(r.URL.Path, func(c rune) bool { return c == '/' })
	switch {
	case len(segments) != 3 || segments[0] != "_node" || segments[2] != "_prometheus":
		status, body = http.StatusNotFound, []byte(`{"error":"not_found","reason":""}`)
	case segments[1] != "_local" && !namesThis(h.env, segments[1]):
		status = http.StatusInternalServerError
		reason := `throw:{not_found,<<"no such node: ` + segments[1] + `">>}`
		body = append(ejson.AppendString([]byte(`{"error":"server_error","reason":`), reason), '}')
	default:
		text, err := h.prometheusText()
		if err != nil {
			h.env.Log.Error("metrics", "error", err)
			status, body = http.StatusInternalServerError, []byte(`{"error":"server_error","reason":""}`)
			break
		}
		kind, body = prometheusType, text
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the reader may be gone
}
