package main

import (
	"context"
	"fmt"
	"strings"
)

// patchAttacks change parts of documents.
var patchAttacks = []attack{
	{
		name: "patches",
		shows: "copies that double, nests, 10,000 operations, 1,000 at the front of a long list, a million members merged, " +
			"64 clients in one document, 16 at once",
		short: 0.01,
		run:   dearPatches,
		own:   true,
	},
}

// dearPatches sends patches that cost much for what they say, to documents of 7 MB. What is too
// large or too long is refused, and the document stays as it was.
func dearPatches(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx, `{"_id":"n","n":0}`)
	if err != nil {
		return err
	}
	defer remove()
	long := repeat(`{"list":[`, `0,`, a.n(2_000_000), `0],"text":"x"}`)
	members := list(`{"o":{`, `}}`, a.n(400_000), func(i int) string { return fmt.Sprintf(`"m%d":%d`, i, i) })
	for id, b := range map[string]body{"list": long, "members": members} {
		a.send(ctx, request{method: "PUT", path: "/" + a.db + "/" + id, body: b}, 201, 413, 503)
	}
	operations := func(n int, op string) body { return text("[" + strings.Repeat(op+",", n-1) + op + "]") }
	patches := []struct {
		id       string
		b        body
		expected int
	}{
		{"list", operations(1000, `{"op":"copy","from":"","path":"/list/-"}`), 413},
		{"list", operations(1000, `{"op":"copy","from":"/list","path":"/list/0"}`), 413},
		{"list", operations(10_000, `{"op":"add","path":"/text","value":1}`), 400},
		{"list", operations(1000, `{"op":"add","path":"/list/0","value":1}`), 201},
		{"list", operations(500, `{"op":"copy","from":"/text","path":"/list/1000"},{"op":"test","path":"/list/999","value":1}`), 201},
		{"list", text(`{"deep":` + strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_001)), 400},
		{"members", members, 200},
		{"members", operations(1000, `{"op":"test","path":"/o/m0","value":0}`), 200},
		{"n", operations(1, `{"op":"increment","path":"/n","value":1}`), 201},
	}
	together(16, func(i int) {
		for k := range patches {
			p := patches[(i+k)%len(patches)]
			a.send(ctx, request{method: "PATCH", path: "/" + a.db + "/" + p.id, body: p.b}, p.expected, 409, 413, 503)
		}
	})
	together(64, func(int) {
		one := text(`[{"op":"increment","path":"/n","value":1}]`)
		a.send(ctx, request{method: "PATCH", path: "/" + a.db + "/n", body: one}, 201, 503)
	})
	return nil
}
