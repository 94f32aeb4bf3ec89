package conformance

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestPatchesBeside: what a PATCH makes of a document here is, with its revision, what a PUT of the
// same text makes of it on the other server (besides): numbers, texts and the order of members
// reach a revision the same way, patch after patch.
func TestPatchesBeside(t *testing.T) {
	b := newBesides(t)
	here, there := b.here.newDatabase(""), b.there.newDatabase("")
	docs, patches := 10, 10
	if os.Getenv("COUCHDB_URL") != "" {
		docs = 40
	}
	random := rand.New(rand.NewPCG(42, 1))
	made := 0
	for d := range docs {
		id := fmt.Sprint("doc", d)
		body := randomMembers(random, 3)
		if first, other := b.here.put(here, id, body), b.there.put(there, id, body); first != other {
			t.Fatalf("a PUT of %s makes %s and %s", body, first, other)
		}
		for range patches {
			before := b.here.want(http.StatusOK, b.here.do("GET", "/"+here+"/"+id, "")).Body
			patch := randomPatch(random)
			patched := b.here.do("PATCH", "/"+here+"/"+id, patch)
			after := b.here.want(http.StatusOK, b.here.do("GET", "/"+here+"/"+id, "")).Body
			if patched.Status != http.StatusCreated {
				if after != before {
					t.Fatalf("%s of %s is %d, and made %s", patch, before, patched.Status, after)
				}
				continue
			}
			made++
			var is, was struct {
				Rev string `json:"_rev"`
			}
			b.here.decode(reply{Body: after}, &is)
			b.here.decode(reply{Body: before}, &was)
			if rev := b.there.put(there, id, strings.Replace(after, is.Rev, was.Rev, 1)); rev != is.Rev {
				t.Fatalf("%s made %s of %s, and a PUT of it on the other server %s", patch, after, before, rev)
			}
			if other := b.there.do("GET", "/"+there+"/"+id, "").Body; other != after {
				t.Fatalf("%s made %s, and a PUT of it on the other server %s", patch, after, other)
			}
		}
	}
	if made < docs*patches/3 {
		t.Errorf("%d of %d patches changed something: too few to say much", made, docs*patches)
	}
}

// randomMembers is an object of members whose names meet those of other ones.
func randomMembers(random *rand.Rand, depth int) string {
	var members []string
	for i := range 6 {
		if random.IntN(3) > 0 {
			members = append(members, fmt.Sprintf(`"%c":%s`, 'a'+i, randomMember(random, depth-1)))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func randomMember(random *rand.Rand, depth int) string {
	if depth > 0 && random.IntN(3) == 0 {
		return randomMembers(random, depth)
	}
	return []string{`1`, `-0`, `1.0`, `1e3`, `0.10`, `12345678901234567890`, `9007199254740993`, `"é\u00e9\ud83d\ude00"`,
		`"a\/b\u0000"`, `true`, `null`, `[1,[2.50,{}],"x"]`, `{}`, `""`}[random.IntN(14)]
}

// randomPatch is a merge patch or a list of operations, most of which can be done.
func randomPatch(random *rand.Rand) string {
	if random.IntN(2) == 0 {
		return randomMembers(random, 3)
	}
	name := func() string { return string(rune('a' + random.IntN(6))) }
	list := make([]any, 1+random.IntN(3))
	for i := range list {
		op := map[string]any{"op": "add", "path": "/" + name(), "value": json.RawMessage(randomMember(random, 2))}
		switch random.IntN(4) {
		case 0:
			op = map[string]any{"op": "copy", "from": "/" + name(), "path": "/" + name()}
		case 1:
			op["value"] = random.IntN(100)
			list[i] = op
			continue
		case 2:
			op = map[string]any{"op": "increment", "path": "/" + name(), "value": json.RawMessage(`1.5`)}
		}
		list[i] = op
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return string(text)
}
