package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/settee-db/settee/conformance"
)

// changes are the steps that a newer CouchDB answers otherwise than they were recorded.
type changes map[route]*routeChanges

// route is a method and a path without what differs from request to request.
type route struct{ path, method string }

// routeChanges are the changes of one route.
type routeChanges struct {
	steps int // with and without changes
	diffs []string
}

// routeOf returns the route of a request, "METHOD /path?query". A part of the path that begins with
// an underscore belongs to the route; of the others the first is a database.
func routeOf(request string) route {
	method, path, _ := strings.Cut(request, " ")
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		switch {
		case part == "" || part[0] == '_':
		case i == 1:
			parts[i] = "{db}"
		default:
			parts[i] = "{name}"
		}
	}
	return route{strings.Join(parts, "/"), method}
}

// collect performs a scenario and keeps the steps that are answered otherwise than recorded, or not
// at all.
func (t *tool) collect(ctx context.Context, f *conformance.File, sc *conformance.Scenario) error {
	results, err := conformance.Replay(ctx, t.addr, sc)
	if err = cmp.Or(err, ctx.Err()); err != nil { // a step that was cut off shows no change
		return err
	}
	var count conformance.Count
	for _, r := range results {
		count.Add(r.Verdict, false)
		at := routeOf(sc.Request(r.Step))
		changed := t.changes[at]
		if changed == nil {
			changed = &routeChanges{}
			t.changes[at] = changed
		}
		changed.steps++
		if r.Verdict != conformance.Exact {
			changed.diffs = append(changed.diffs, fmt.Sprintf("%s/%s%s", f.Area, sc.Name, r.Diff()))
		}
	}
	t.report.Add(t.addr, f.Area, count)
	return nil
}

// write prints the steps that have changed, by route.
func (c changes) write(w io.Writer) {
	byPath := func(a, b route) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.method, b.method))
	}
	for _, at := range slices.SortedFunc(maps.Keys(c), byPath) {
		if r := c[at]; len(r.diffs) > 0 {
			fmt.Fprintf(w, "%s %s: %d of %d steps\n%s\n\n", at.method, at.path, len(r.diffs), r.steps,
				strings.Join(r.diffs, "\n"))
		}
	}
}

// versionOf asks the server which CouchDB it is.
func versionOf(ctx context.Context, addr string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/", nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var welcome struct{ Version string }
	if err := json.NewDecoder(resp.Body).Decode(&welcome); err != nil || welcome.Version == "" {
		return "", fmt.Errorf("GET / of %s tells no version (%s)", addr, resp.Status)
	}
	return welcome.Version, nil
}
