package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication/site"
)

// maxAnswer bounds an answer that is read as a whole.
const maxAnswer = 64 << 20

func readAll(r io.Reader) ([]byte, error) { return io.ReadAll(&bounded{r, maxAnswer}) }

func decode(r io.Reader, into any) error {
	return json.NewDecoder(&bounded{r, maxAnswer}).Decode(into)
}

// server compares all databases that either side has. _global_changes tells what happened on a
// server, and documents of _replicator have the states of its scheduler.
func (c *comparison) server(ctx context.Context) error {
	return merge(names(ctx, c.A), names(ctx, c.B), strings.Compare, func(x, y *string) error {
		name := y
		if x != nil {
			name = x
		}
		replicator := *name == "_replicator" || strings.HasSuffix(*name, "/_replicator")
		if *name == "_global_changes" || replicator {
			return nil
		}
		return c.pair(ctx, Pair{*name, *name})
	})
}

// pageOfNames is how many names of databases are asked for at once.
const pageOfNames = 1000

// names gives the names of a server's databases in order.
func names(ctx context.Context, s *site.Site) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		last, path := "", fmt.Sprintf("/_all_dbs?limit=%d", pageOfNames)
		for page := path; ; {
			var list []string
			if err := s.GetJSON(ctx, page, &list); err != nil {
				yield("", err)
				return
			}
			more := len(list) == pageOfNames
			// The next page begins with the last name of this one, or behind it if that is
			// deleted.
			for _, name := range list {
				if name <= last {
					more = more && len(list) > 1
					continue // where the page before ended
				}
				last = name
				if !yield(name, nil) {
					return
				}
			}
			if !more {
				return
			}
			page = path + "&start_key=" + url.QueryEscape(string(ejson.AppendString(nil, last)))
		}
	}
}

// exists reports whether both sides have the database; if one has it only, and that stays so, it
// is a difference.
func (d *database) exists(ctx context.Context) (both bool, err error) {
	s := d.newSuspects(func(ctx context.Context, keys []string) (map[string]observation, error) {
		there := 0
		found, err := d.lookAt(ctx, keys, func(e end, _ string) ([]byte, error) {
			_, err := e.value(ctx, "")
			if err == nil {
				there++
			}
			return []byte{}, err
		})
		both = there == 2
		if err == nil && there == 0 {
			err = errors.New("no side has this database")
		}
		return found, err
	}, func(_, what string) string { return d.name + ": the database " + what })
	if err := s.first(ctx, []string{""}); err != nil {
		return false, err
	}
	err = s.settle(ctx)
	return both, err
}

// settings compares what belongs to the database itself. Limits that only one of CouchDB's
// versions has, or that count for a server alone (_purged_infos_limit), are not among it.
func (d *database) settings(ctx context.Context) error {
	s := d.newSuspects(func(ctx context.Context, keys []string) (map[string]observation, error) {
		return d.lookAt(ctx, keys, func(e end, key string) ([]byte, error) {
			v, err := e.value(ctx, "/"+key)
			if key == "" {
				v, _ = v.Get("props")
			}
			return sorted(v), err
		})
	}, func(key, what string) string {
		if key == "" {
			key = "whether it is partitioned"
		}
		return d.name + ": " + key + " " + what
	})
	keys := []string{"", "_revs_limit"}
	if d.a.name != usersDB { // its permissions are the server's
		keys = append(keys, "_security")
	}
	if err := s.first(ctx, keys); err != nil {
		return err
	}
	return s.settle(ctx)
}

// sorted prints a value with the members of its objects in order: servers print _security as it
// was written, and that of a new database each in its own way.
func sorted(v ejson.Value) []byte {
	if v.Kind() == ejson.Invalid {
		return []byte{}
	}
	var any any
	if json.Unmarshal(v.AppendJSON(nil), &any) != nil {
		return v.AppendJSON(nil)
	}
	b, _ := json.Marshal(any) // it was parsed
	return bytes.TrimSpace(b)
}
