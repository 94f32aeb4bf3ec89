package collate

import (
	"testing"
)

var benchStrings = map[string]string{
	"ascii":    "Hello World, this is a title 42",
	"id":       "6e1295ed6c29495e54cc05947f18c8af",
	"latin":    "Déjà vu à la façade, über Straße",
	"cyrillic": "Съешь же ещё этих мягких французских булок",
	"cjk":      "日本語の文字列と漢字の並び順",
	"hangul":   "대한민국 서울특별시",
}

func BenchmarkStringKey(b *testing.B) {
	for name, text := range benchStrings {
		b.Run(name, func(b *testing.B) {
			s := []byte(text)
			dst := make([]byte, 0, 512)
			b.ReportAllocs()
			for b.Loop() {
				dst = AppendStringKey(dst[:0], s)
			}
			b.ReportMetric(float64(len(dst))/float64(len(s)), "key/byte")
		})
	}
}

func BenchmarkCompareStrings(b *testing.B) {
	for name, text := range benchStrings {
		b.Run(name, func(b *testing.B) {
			s, other := []byte(text+"x"), []byte(text+"y")
			b.ReportAllocs()
			for b.Loop() {
				CompareStrings(s, other)
			}
		})
	}
}

func BenchmarkValueKey(b *testing.B) {
	v := parsed(b, `["2024-05-17T12:00:00Z", 42, 3.25, {"type": "order", "open": true}, null]`)
	dst := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendKey(dst[:0], v)
	}
}

func BenchmarkReadTable(b *testing.B) {
	for b.Loop() {
		readTable(unpack(packedRoot))
	}
}
