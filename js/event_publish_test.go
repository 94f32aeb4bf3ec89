package js

import "testing"

// TestEventPublish: what publish makes of its arguments, and what it refuses: an exception that the
// handler can catch, and no effect.
func TestEventPublish(t *testing.T) {
	const json = `[["Content-Type","application/json"]]`
	wrong := func(what string) string { return "!EventingError: publish: " + what }
	const id = "the id must be a string of at most 512 characters"
	runCases(t, nil, []handlerCase{
		{"an object to a URL", `publish(api, {a: 1})`, `publish api  {"headers":` + json + `,"text":"{\"a\":1}","base64":""}`},
		{"with an id and headers", `publish(api, [1], {id: "i", headers: {"X-A": "b"}})`,
			`publish api i {"headers":[["X-A","b"],["Content-Type","application/json"]],"text":"[1]","base64":""}`},
		{"a type of its own", `publish(api, "<a/>", {headers: {"content-type": "text/xml"}})`,
			`publish api  {"headers":[["content-type","text/xml"]],"text":"<a/>","base64":""}`},
		{"a text", `publish(api, "a", null)`, `publish api  {"headers":[["Content-Type","text/plain"]],"text":"a","base64":""}`},
		{"null", `publish(api, null)`, `publish api  {"headers":` + json + `,"text":"null","base64":""}`},
		{"bytes", `publish(api, new ArrayBuffer(2))`,
			`publish api  {"headers":[["Content-Type","application/octet-stream"]],"text":"","base64":"AAA="}`},
		{"a document", `publish(dst, {_id: "x", _rev: "1-x", a: 1}, {id: "i"})`,
			`publish dst i {"headers":` + json + `,"text":"{\"a\":1}","base64":""}`},
		{"nobody", `publish("api", {})`, wrong("the first argument must be a URL or bucket binding")},
		{"nothing", `publish(api)`, wrong("a value is missing")},
		{"a function", `publish(api, OnUpdate)`, wrong("a value is missing")},
		{"what is no JSON", `publish(api, {toJSON: () => undefined})`, wrong("a value is missing")},
		{"a text as a document", `publish(dst, "a")`, wrong("a message to a bucket must be an object")},
		{"a database that is read", `publish(src, {})`, `!EventingError: Writing to source bucket is forbidden`},
		{"a number as id", `publish(api, 1, {id: 5})`, wrong(id)},
		{"a long id", `publish(api, 1, {id: "x".repeat(513)})`, wrong(id)},
		{"the longest id", `publish(api, 1, {id: "x".repeat(512)}); log("done"); throw new Error("no")`, `"done" | !Error: no`},
		{"a line in an id", `publish(api, 1, {id: "a\nb"})`, wrong(id)},
		{"headers that are none", `publish(api, 1, {headers: 5})`, wrong("headers must be an object")},
		{"a header that is no text", `publish(api, 1, {headers: {a: 5}})`,
			wrong("the header a must be a string without control characters")},
		{"a line in a header", `publish(api, 1, {headers: {a: "b\r\nc: d"}})`,
			wrong("the header a must be a string without control characters")},
		{"a name that is none", `publish(api, 1, {headers: {"a b": "c"}})`,
			wrong("the header a b must be a string without control characters")},
		{"a key of its own", `publish(api, 1, {headers: {"idempotency-KEY": "c"}})`,
			wrong("the header Idempotency-Key is the option 'id'")},
		{"too much", `publish(api, "x".repeat(1 << 20))`, wrong("a message may have at most 1 MB")},
		{"an exception that is caught", `try { publish(api) } catch (e) { log(e instanceof EventingError) } dst.y = {}`,
			`true | set d/y {}`},
	})
}
