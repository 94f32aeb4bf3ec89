package ejson

import (
	"crypto/md5"
	"encoding/json"
	"strings"
	"testing"
)

// benchDocs are documents of about a kilobyte: mostly text, many small members, numbers.
var benchDocs = map[string]string{
	"text": `{"_id":"mydoc","_rev":"3-967a00dff5e02add41819138abb3284d","type":"post","title":"A title","tags":["a","b","c"],"n":3,` +
		`"rating":4.5,"author":{"name":"x","mail":"x@example.com"},"text":"` + strings.Repeat(
		"lorem ipsum dolor sit amet ",
		28,
	) + `"}`,
	"members": `{"_id":"order-2024-000123","type":"order","status":"shipped","customer":{"id":"c-8812","name":"Ada Lovelace","email":"ada@example.com",` +
		`"address":{"street":"12 St James Square","city":"London","zip":"SW1Y 4JH","country":"GB"}},"lines":[` +
		strings.Repeat(
			`{"sku":"A-1001","title":"Notebook","qty":2,"price":7.95,"tax":0.2,"tags":["paper","blue"]},`,
			7,
		) +
		`{"sku":"B-7","title":"Pen","qty":10,"price":1.5,"tax":0.2,"tags":[]}],"total":75.65,"paid":true,"notes":null,"created":"2024-05-01T12:00:00Z"}`,
	"numbers": `{"series":[` + strings.Repeat(`[1714564800,23.125,-4.75,1013],`, 30) + `[0,0.0,0.5,1]]}`,
	"spaced": `{ "type" : "post", "tags" : [ "a", "b", "c" ], "text" : "` + strings.Repeat(
		"lorem ipsum dolor sit amet ",
		32,
	) + `", "n": 1, "o" : { "a" : null } }`,
	"chinese": `{"text":"` + strings.Repeat("文档数据库", 64) + `","n":1}`,
}

func eachDoc(b *testing.B, run func(b *testing.B, text []byte)) {
	for _, name := range []string{"text", "members", "numbers", "spaced", "chinese"} {
		text := []byte(benchDocs[name])
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			run(b, text)
		})
	}
}

func BenchmarkParse(b *testing.B) {
	eachDoc(b, func(b *testing.B, text []byte) {
		for b.Loop() {
			p := AcquireParser()
			if _, err := p.Parse(text); err != nil {
				b.Fatal(err)
			}
			p.Release()
		}
	})
}

// BenchmarkValid is encoding/json's validity check, for comparison.
func BenchmarkValid(b *testing.B) {
	eachDoc(b, func(b *testing.B, text []byte) {
		for b.Loop() {
			if !json.Valid(text) {
				b.Fatal("invalid")
			}
		}
	})
}

func BenchmarkAppendJSON(b *testing.B) { benchValue(b, Value.AppendJSON) }

func BenchmarkAppendTerm(b *testing.B) { benchValue(b, Value.AppendTerm) }

func BenchmarkTermMD5(b *testing.B) {
	benchValue(b, func(v Value, dst []byte) []byte {
		dst = v.AppendTerm(dst)
		sum := md5.Sum(dst)
		return append(dst, sum[:]...)
	})
}

func BenchmarkEncodedSize(b *testing.B) {
	benchValue(b, func(v Value, dst []byte) []byte {
		if _, err := v.EncodedSize(); err != nil {
			b.Fatal(err)
		}
		return dst
	})
}

func benchValue(b *testing.B, run func(v Value, dst []byte) []byte) {
	eachDoc(b, func(b *testing.B, text []byte) {
		v, err := Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		dst := make([]byte, 0, 1<<14)
		for b.Loop() {
			dst = run(v, dst[:0])
		}
	})
}

func BenchmarkGet(b *testing.B) {
	v, err := Parse([]byte(benchDocs["members"]))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if m, ok := v.Get("created"); !ok || !m.TextIs("2024-05-01T12:00:00Z") {
			b.Fatal("not found")
		}
	}
}

func BenchmarkAppendString(b *testing.B) {
	for name, s := range map[string]string{"id": "order-2024-000123", "escapes": "a \"quoted\" line\n", "chinese": strings.Repeat("文档数据库", 20), "long": strings.Repeat("lorem ipsum ", 80)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			dst := make([]byte, 0, 4096)
			for b.Loop() {
				dst = AppendString(dst[:0], s)
			}
		})
	}
}
