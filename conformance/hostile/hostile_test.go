package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/conformance"
)

func TestMain(m *testing.M) {
	code := m.Run()
	conformance.RemoveBinary()
	os.Exit(code)
}

// TestHostile runs the small forms of the attacks on a server with 512 MB: it must not end, not
// take more, lose nothing that it has acknowledged, answer with no status that is not foreseen,
// leave nothing behind and serve the innocent client. How fast is for `make hostile` to say.
func TestHostile(t *testing.T) {
	if _, err := os.Stat("/proc/self/clear_refs"); err != nil {
		t.Skip("reads the memory of another process from /proc, which this system has not")
	}
	server, err := startTarget(t.Context(), 512<<20)
	if err != nil {
		t.Fatal(err)
	}
	c := &campaign{t: server, out: t.Output()}
	defer func() {
		c.end(t.Context())
		for _, failure := range c.failed {
			t.Error(failure)
		}
	}()
	if err := c.begin(t.Context(), 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for _, x := range attacks() {
		if c.scale = x.short; x.short == 0 {
			continue
		}
		if err := c.each(t.Context(), []attack{x}); err != nil {
			t.Fatal(err)
		}
	}
}

// Names are what -attack and the table go by.
func TestAttacksAreNamed(t *testing.T) {
	names := map[string]bool{}
	for _, x := range attacks() {
		if x.name == "" || x.shows == "" || names[x.name] || x.run == nil {
			t.Errorf("%q is incomplete or doubled", x.name)
		}
		names[x.name] = true
	}
}

func TestBodies(t *testing.T) {
	for _, c := range []struct {
		body body
		want string
	}{
		{repeat("<", "ab", 5, ">"), "<ababababab>"},
		{repeat("", "x", 200_001, ""), strings.Repeat("x", 200_001)},
		{list("[", "]", 3, func(i int) string { return fmt.Sprint(i) }), "[0,1,2]"},
		{text("a").then(text("b")).then(repeat("c", "d", 2, "")), "abcdd"},
	} {
		for range 2 { // a body is sent more than once
			var got strings.Builder
			if n, err := io.Copy(&got, c.body.open()); err != nil || n != c.body.length || got.String() != c.want {
				t.Errorf(
					"%.20q… of %d bytes instead of %.20q… of %d (%d said)",
					got.String(),
					n,
					c.want,
					len(c.want),
					c.body.length,
				)
			}
		}
	}
}

func TestOutputIsWatched(t *testing.T) {
	var o output
	for _, part := range []string{"ab", "cdef\ng msg=panic\n", "hi"} {
		fmt.Fprint(&o, part)
	}
	if panics, longest := o.seen(); panics != 1 || longest != len("g msg=panic") {
		t.Errorf("%d panics, longest line %d", panics, longest)
	}
}

func TestSizes(t *testing.T) {
	for size, want := range map[string]int64{"512MB": 512 << 20, "1GB": 1 << 30, "7": 7, "1M": 0, "MB": 0, "-1": 0} {
		if got, err := bytesOf(size); got != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %d, %v", size, got, err)
		}
	}
	if parents := parents(); len(parents) > 0 && !filepath.IsAbs(parents[0].dir) {
		t.Errorf("%+v", parents)
	}
}
