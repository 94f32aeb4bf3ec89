package site

import (
	"net/http"

	"github.com/settee-db/settee/tracing"
)

// Send sends a request with the context of its trace in the header traceparent, unless it has one
// already, and has a span until the head of the answer is there: below that of the request's
// context, or else, where t is not nil, of a trace of its own.
func Send(t *tracing.Tracer, client *http.Client, r *http.Request) (*http.Response, error) {
	ctx, span := t.Outgoing(r.Context(), "HTTP "+r.Method)
	if r.Header.Get("Traceparent") == "" {
		tracing.Inject(ctx, r.Header)
	}
	if !span.Recorded() {
		return client.Do(r)
	}
	span.String("http.request.method", r.Method)
	response, err := client.Do(r.WithContext(ctx))
	if err == nil {
		span.Int("http.response.status_code", int64(response.StatusCode))
	}
	span.End(err)
	return response, err
}
