package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// bodyAttacks send more than the memory holds: packed, many at once, without end.
var bodyAttacks = []attack{
	{name: "gzip bombs", shows: "100 MB from 100 KB, of users and of nobody, eight at once", short: 1, run: gzipBombs},
	{
		name:  "large bodies",
		shows: "six kinds, packed and plain, of users and of nobody, 18 at once",
		short: 1,
		run:   largeBodies,
	},
	{name: "gzip below the ratio", shows: "bodies that inflate as much as is let, eight at once", run: gzipBelowRatio},
	{name: "bulk 57 MB", shows: "_bulk_docs of 57 MB, 16 at once", short: 0.1, run: largeBulks},
	{
		name:  "large attachments",
		shows: "100 MB each, plain, chunked and as multipart, 12 at once",
		short: 0.05,
		run:   largeAttachments,
	},
	{
		name:  "an attachment of 2 GB",
		shows: "it is stored, read in whole, in part and as base64, slowly by 16, by _bulk_get, copied and replicated",
		run:   hugeAttachment,
		limit: 10 * time.Minute,
	},
}

var packedHeaders = []string{"Content-Encoding", "gzip"}

// gzipBombs sends bodies of 100 KB that unpack to 100 MB, also to /_session, which reads a body
// before anybody is signed in.
func gzipBombs(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	bomb := repeat(`{"name":"`, "x", a.n(100_000_000), `"}`).packed()
	docs := repeat(`{"docs":[{"a":"`, "x", a.n(100_000_000), `"}]}`).packed()
	together(8, func(i int) {
		a.send(ctx, request{method: "POST", path: "/_session", as: nobody, body: bomb, headers: packedHeaders}, 400,
			401, 413, 503)
		a.send(ctx,
			request{method: "PUT", path: fmt.Sprintf("/%s/bomb-%d", a.db, i), body: bomb, headers: packedHeaders}, 201,
			413, 503)
		a.send(ctx, request{method: "POST", path: "/" + a.db + "/_bulk_docs", body: docs, headers: packedHeaders}, 201,
			413, 503)
	})
	return nil
}

// largeBodies sends the largest bodies of every kind at once: packed, plain, of many documents, of
// many keys, nested deeply. Each is harmless alone; together they need more memory than the server
// has, so it must refuse some (413, 503) and go on.
func largeBodies(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	bomb := repeat(`{"name":"`, "x", a.n(100_000_000), `"}`).packed()
	db := "/" + a.db
	requests := []request{
		{method: "PUT", path: db + "/bomb", headers: packedHeaders, body: bomb},
		{method: "POST", path: "/_session", as: nobody, headers: packedHeaders, body: bomb},
		{method: "POST", path: "/_session", as: nobody, body: repeat(`{"name":"`, "x", a.n(20_000_000), `"}`)},
		{
			method: "POST",
			path:   db + "/_bulk_docs",
			body:   repeat(`{"docs":[`, `{"a":"`+strings.Repeat("x", 1000)+`"},`, a.n(20_000), `{}]}`),
		},
		{method: "POST", path: db + "/_all_docs", body: repeat(`{"keys":[`, "1,", a.n(10_000_000), `1]}`)},
		{
			method: "PUT",
			path:   db + "/deep",
			body:   repeat(`{"a":`, "[", a.n(3_000_000), "").then(repeat("", "]", a.n(3_000_000), "}")),
		},
	}
	together(3*len(requests), func(i int) {
		a.send(ctx, requests[i%len(requests)], 200, 201, 400, 401, 409, 413, 503)
	})
	return nil
}

// gzipBelowRatio mixes bytes that compress well with bytes that do not, so that the ratio stays
// below two hundred, where a guard against bombs by ratio alone would let them pass.
func gzipBelowRatio(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	var noise strings.Builder
	for noise.Len() < 20_000 {
		fmt.Fprintf(&noise, "%016x", a.random.Uint64())
	}
	unit := strings.Repeat("x", 2_000_000) + noise.String()
	b := repeat(`{"a":"`, unit, a.n(30), `"}`).packed()
	together(8, func(i int) {
		a.send(ctx, request{method: "PUT", path: fmt.Sprintf("/%s/tight-%d", a.db, i), body: b, headers: packedHeaders},
			201, 413, 503)
		a.send(ctx, request{method: "POST", path: "/" + a.db + "/_all_docs", body: b, headers: packedHeaders}, 200, 400,
			413, 503)
	})
	return nil
}

func largeBulks(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	const document = 1000
	b := repeat(`{"docs":[`, `{"a":"`+strings.Repeat("x", document-9)+`"},`, a.n(57_000), `{}]}`)
	together(16, func(int) {
		a.send(ctx, request{method: "POST", path: "/" + a.db + "/_bulk_docs", body: b}, 201, 413, 503)
	})
	return nil
}

// largeAttachments uploads one attachment in the four ways there are: as the body, in chunks of
// unknown total, as a part of multipart/related, and as base64 inside the document. Only the last
// has to be held in memory as a whole.
func largeAttachments(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	size := a.n(100_000_000)
	plain := repeat("", "0123456789abcdef", size/16, "")
	part := fmt.Sprintf("--b\r\nContent-Type: application/json\r\n\r\n"+
		`{"_attachments":{"a":{"follows":true,"content_type":"text/plain","length":%d}}}`+"\r\n--b\r\n\r\n", plain.length)
	multipart := text(part).then(plain).then(text("\r\n--b--"))
	inline := repeat(`{"_attachments":{"a":{"data":"`, "QUJDREVGR0hJSktM", size/16, `"}}}`)
	related := []string{"Content-Type", `multipart/related; boundary="b"`}
	together(12, func(i int) {
		id := fmt.Sprintf("large-%d", i)
		switch i % 4 {
		case 0:
			a.put(ctx, id+"/a", plain, []string{"Content-Type", "text/plain"}, 201, 413, 503)
		case 1:
			a.put(ctx, id+"/a", plain.chunked(), []string{"Content-Type", "application/octet-stream"}, 201, 413, 503)
		case 2:
			a.put(ctx, id, multipart, related, 201, 413, 503)
		case 3:
			a.put(ctx, id, inline, nil, 201, 413, 503)
		}
	})
	return nil
}

// hugeAttachment stores more than the memory in one attachment, and reads it in each way.
func hugeAttachment(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	const setting = "/_node/_local/_config/couchdb/max_attachment_size"
	a.send(ctx, request{method: "PUT", path: setting, as: admin, body: text(`"infinity"`)}, 200)
	defer a.send(context.WithoutCancel(ctx), request{method: "DELETE", path: setting, as: admin})
	size := a.n(2048) << 20
	content := repeat("", strings.Repeat("0123456789abcdef", 64), size/1024, "")
	a.put(ctx, "huge/a", content, []string{"Content-Type", "application/octet-stream"}, 201)
	path := "/" + a.db + "/huge"
	for _, c := range []struct {
		path, part string
		length     int64
	}{
		{path + "/a", "", int64(size)},
		{path + "/a", fmt.Sprintf("bytes=%d-%d", size-16, size-1), 16},
		{path + "?attachments=true", "", int64(size)/3*4 + 1},
	} {
		r := request{method: "GET", path: c.path, headers: []string{"Accept", "application/json"}}
		if c.part != "" {
			r.headers = append(r.headers, "Range", c.part)
		}
		got := a.send(ctx, r, 200, 206)
		if got.length < c.length && ctx.Err() == nil {
			a.fault("%s: %d bytes instead of %d", c.path, got.length, c.length)
		}
	}
	a.send(ctx, request{method: "COPY", path: path, headers: []string{"Destination", "copy"}}, 201)
	return a.shareHuge(ctx, int64(size))
}

// shareHuge has the attachment of the document huge read by many at once, some of them slowly,
// while it is replicated.
func (a *assault) shareHuge(ctx context.Context, size int64) error {
	copied := a.db + "-copied"
	if err := a.makeDatabase(ctx, copied, attackerName); err != nil {
		return err
	}
	defer func() {
		_, _ = a.ask(context.WithoutCancel(ctx), request{method: "DELETE", path: "/" + copied, as: admin})
	}()
	path := "/" + a.db + "/huge"
	const slow, parts = 16, 16
	together(slow+parts+2, func(i int) {
		switch {
		case i < slow:
			a.readSlowly(ctx, path+"/a")
		case i < slow+parts:
			from := size / parts * int64(i-slow)
			got := a.send(ctx, request{method: "GET", path: path + "/a",
				headers: []string{"Range", fmt.Sprintf("bytes=%d-%d", from, from+size/parts-1)}}, 206, 503)
			if got.status == 206 && got.length != size/parts && ctx.Err() == nil {
				a.fault("a part of %d bytes instead of %d", got.length, size/parts)
			}
		case i == slow+parts:
			got := a.send(ctx, request{method: "POST", path: "/" + a.db + "/_bulk_get?attachments=true",
				body: text(`{"docs":[{"id":"huge"}]}`)}, 200, 503)
			if got.status == 200 && got.length < size/3*4 && ctx.Err() == nil {
				a.fault("_bulk_get: %d bytes for %d", got.length, size)
			}
		default:
			body := fmt.Sprintf(`{"source":%s,"target":%s,"doc_ids":["huge"]}`, a.endpoint(a.db), a.endpoint(copied))
			got := a.send(ctx, request{method: "POST", path: "/_replicate", body: text(body)}, 200)
			if got.status == 200 {
				a.send(ctx, request{method: "HEAD", path: "/" + copied + "/huge/a"}, 200)
			}
		}
	})
	return nil
}

// readSlowly asks for a path and reads a little every tenth of a second, a hundred times, then
// goes.
func (a *assault) readSlowly(ctx context.Context, path string) {
	conn, err := a.connect(ctx, "")
	if err != nil {
		return
	}
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", path, credentials())
	block := make([]byte, 16<<10)
	for i := 0; i < 100 && err == nil; i++ {
		_, err = conn.Read(block)
		pause(ctx, 100*time.Millisecond)
	}
}
