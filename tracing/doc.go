// Package tracing is OpenTelemetry's spans as the layers of the server begin them: of a request, a
// transaction, a call of JavaScript, a build, a job, a request to another server.
//
// Map: span.go has Tracer, which begins traces, and Span · propagate.go what of a trace goes from
// server to server, the headers traceparent and tracestate (W3C Trace Context). Package otlp makes
// a Tracer that sends to a collector.
//
// OpenTelemetry's SDK would do the same, with 1.1 MB of the program (ADR 0064): what is sent needs
// ids, a sampler and attributes of two types.
//
// Invariants:
//  1. Where nobody traces there is nothing: a nil Tracer, the zero Span, no allocation. Who begins a
//     span below one that is not recorded gets the zero Span and its own context.
//  2. A span has names of what the server does, counts and kinds; names of databases, design
//     documents and functions are attributes of the keys that IsName knows, which otlp hides. No
//     keys, values, ids of documents, users or texts of errors.
//  3. Nothing here waits. A span has at most mostAttributes, and of a text the first mostText bytes.
package tracing
