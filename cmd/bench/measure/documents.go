package measure

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

const (
	// documentSize is the length of a document's JSON as it is sent by PUT, without _id and _rev,
	// in bytes.
	documentSize = 1024
	// poolSize is how many different documents there are. A store's compression does not look as
	// far back as that.
	poolSize = 4096
)

var words = [...]string{
	"account", "amber", "anchor", "autumn", "balance", "basket", "bridge", "candle", "carbon", "castle", "cedar", "circle",
	"cobalt", "copper", "cotton", "crystal", "delta", "desert", "dragon", "eagle", "echo", "ember", "engine", "falcon",
	"fabric", "feather", "forest", "galaxy", "garden", "glacier", "granite", "harbor", "hazel", "horizon", "indigo", "iron",
	"island", "ivory", "jasmine", "jungle", "kernel", "kettle", "ladder", "lantern", "lemon", "linen", "lotus", "magnet",
	"maple", "marble", "meadow", "mirror", "nectar", "needle", "nickel", "oasis", "ocean", "olive", "orbit", "orchid",
	"paper", "pepper", "pixel", "planet", "pocket", "prairie", "quartz", "quiver", "radar", "raven", "ribbon", "river",
	"saddle", "saffron", "salmon", "silver", "spruce", "summit", "tablet", "temple", "thunder", "timber", "tulip", "tunnel",
	"umbrella", "valley", "vector", "velvet", "violet", "walnut", "water", "willow", "window", "winter", "yellow", "zephyr",
}

// documents is the pool that all workloads draw from.
type documents struct {
	bodies [][]byte // JSON objects of documentSize bytes
}

// newDocuments makes the pool: always the same one.
func newDocuments() *documents {
	rnd := rand.New(rand.NewPCG(1, 2))
	d := &documents{bodies: make([][]byte, poolSize)}
	for i := range d.bodies {
		d.bodies[i] = appendDocument(make([]byte, 0, documentSize), rnd, i)
	}
	return d
}

// body returns the n-th document's JSON; the caller must not modify it.
func (d *documents) body(n int64) []byte { return d.bodies[n%poolSize] }

// appendDocument writes an order of a shop: strings, numbers, booleans, a date, nested objects and
// arrays.
func appendDocument(b []byte, rnd *rand.Rand, n int) []byte {
	word := func() string { return words[rnd.IntN(len(words))] }
	b = fmt.Appendf(b, `{"type":"order","number":%d,"created":"2025-%02d-%02dT%02d:%02d:%02d.%03dZ","active":%t`,
		100000+n, 1+rnd.IntN(12), 1+rnd.IntN(28), rnd.IntN(24), rnd.IntN(60), rnd.IntN(60), rnd.IntN(1000),
		rnd.IntN(2) == 0)
	b = fmt.Appendf(b, `,"customer":{"id":"%016x","name":"%s %s","email":"%s.%s%d@example.com","score":%.4f}`,
		rnd.Uint64(), word(), word(), word(), word(), rnd.IntN(1000), rnd.Float64())
	b = fmt.Appendf(b,
		`,"address":{"street":"%s street %d","city":"%s","zip":"%05d","location":{"lat":%.6f,"lon":%.6f}}`, word(),
		rnd.IntN(300), word(), rnd.IntN(100000), rnd.Float64()*180-90, rnd.Float64()*360-180)
	b = append(b, `,"items":[`...)
	for i := range 3 {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"sku":"%08x","title":"%s %s","quantity":%d,"price":%d.%02d}`,
			rnd.Uint32(), word(), word(), 1+rnd.IntN(9), rnd.IntN(500), rnd.IntN(100))
	}
	b = fmt.Appendf(b, `],"tags":["%s","%s","%s"],"total":%d.%02d,"parent":null,"note":"`, word(), word(), word(),
		rnd.IntN(5000), rnd.IntN(100))
	for len(b) < documentSize-2 {
		b = append(append(b, word()...), ' ')
	}
	return append(b[:documentSize-2], '"', '}')
}

// appendID writes the id of the n-th document: rising, as CouchDB's own ids are by default.
func appendID(b []byte, n int64) []byte {
	b = append(b, "d5c3a0f1"...)
	for width := int64(1_000_000_000); width > max(n, 1); width /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, n, 10)
}

// appendMembers writes the members of the n-th document, with the brace behind them.
func (d *documents) appendMembers(b []byte, n int64) []byte { return append(b, d.body(n)[1:]...) }

// appendBulk writes the body of a _bulk_docs request with the documents from first on.
func (d *documents) appendBulk(b []byte, first int64, count int) []byte {
	return appendBulk(b, first, count, d.appendMembers)
}

// appendBulk writes the body of a _bulk_docs request with count documents from first on, whose
// members are appended as by appendMembers.
func appendBulk(b []byte, first int64, count int, members func(b []byte, n int64) []byte) []byte {
	b = append(b, `{"docs":[`...)
	for i := range int64(count) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendID(append(b, `{"_id":"`...), first+i)
		b = members(append(b, `",`...), first+i)
	}
	return append(b, "]}"...)
}
