// Package otlp sends spans to a collector of OpenTelemetry: OTLP as JSON over HTTP.
//
// Map: exporter.go makes the tracer and has the queue, send.go sends a batch, encode.go has the
// JSON of opentelemetry-proto's trace.proto.
//
// OpenTelemetry's own exporter (otlptracehttp) brings gRPC and protobuf, and the SDK's batcher
// counts nowhere what it drops.
//
// Invariants:
//  1. Who ends a span never waits: the queue has Queued spans, and what finds it full is dropped.
//  2. What waits is bounded: that queue, and one batch that is sent, of spans that are bounded.
//  3. Every span that ends sampled is counted once: as sent, or by why it was not.
//  4. A collector gets a bounded time for each batch, and of what it says a bounded part is read. A
//     redirection is an answer like any other that is not 200: headers with keys go nowhere else.
//  5. Names that users have chosen (tracing.IsName) leave as hashes, unless Options.Names says otherwise.
package otlp
