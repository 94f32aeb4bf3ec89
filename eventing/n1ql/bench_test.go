package n1ql

import (
	"context"
	"fmt"
	"testing"
)

// documents gives the same ones again and again, as fast as can be.
type documents struct {
	Keyspace
	docs []Document
}

func (d *documents) Hold(int) error { return nil }

func (d *documents) Open(context.Context, string) (Keyspace, error) { return d, nil }

func (d *documents) Find(_ context.Context, f Find) error {
	for i := range d.docs {
		if more, err := f.Each(&d.docs[i]); err != nil || !more {
			return err
		}
	}
	return nil
}

// BenchmarkSelect reads 1000 documents of some 200 bytes, of which a tenth become rows.
func BenchmarkSelect(b *testing.B) {
	var d documents
	for i := range 1000 {
		d.docs = append(d.docs, Document{ID: fmt.Sprint(i), Cas: "1-x", Exists: true, Body: fmt.Appendf(nil,
			`{"type":"brewery","city":"city%d","name":"A name of some length","address":["12 Street","Behind"],`+
				`"n":%d,"description":"One of the many breweries that the samples of databases are full of","x":{"y":1}}`,
			i%10, i)})
	}
	s, err := Parse(`SELECT name, META().id, n + 1 AS n FROM b WHERE type = "brewery" AND city = $city AND x.y < 2`)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		q, err := s.Bind([]byte(`{"$city":"city3"}`))
		if err != nil {
			b.Fatal(err)
		}
		rows, err := q.Rows(b.Context(), &d)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for {
			_, ok, err := rows.Next()
			if err != nil {
				b.Fatal(err)
			}
			if !ok {
				break
			}
			n++
		}
		if n != 100 {
			b.Fatal(n)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse(`SELECT name, META().id FROM b WHERE type = "brewery" AND city = $city LIMIT 5`); err != nil {
			b.Fatal(err)
		}
	}
}
