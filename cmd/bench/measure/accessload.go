package measure

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// errNoAccess says that a server has no access for each document, and that users of a CouchDB have
// nothing in its place.
var errNoAccess = errors.New("has no access for each document")

func accessWorkloads() []*workload {
	return []*workload{accessPuts(), accessSync(), accessOwn(), accessWake()}
}

// accessUser is the name of user i of the run.
func (s *session) accessUser(i int) string { return fmt.Sprintf("%su%d", s.prefix, i) }

// signUp makes the users of the run, unless they exist; close deletes them.
func (s *session) signUp(ctx context.Context) error {
	for i := len(s.users); i < s.size.accessUsers; i++ {
		name := s.accessUser(i)
		body := fmt.Appendf(nil, `{"name":%q,"type":"user","roles":["bench"],"password":"secret"}`, name)
		answer, err := s.request(ctx, "PUT", "/_users/org.couchdb.user:"+name, body, 201)
		if err != nil {
			return err
		}
		var stored struct{ Rev string }
		if err := json.Unmarshal(answer, &stored); err != nil {
			return err
		}
		as := *s.target
		as.Auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":secret"))
		s.users = append(s.users, benchUser{rev: stored.Rev, target: &as})
	}
	return nil
}

// benchUser is a user of the run: the server, asked as that user.
type benchUser struct {
	rev    string
	target *Target
}

// signOff deletes the users.
func (s *session) signOff(ctx context.Context) error {
	var failure error
	for i, u := range s.users {
		_, err := s.request(ctx, "DELETE", "/_users/org.couchdb.user:"+s.accessUser(i)+"?rev="+u.rev, nil, 200)
		failure = errors.Join(failure, err)
	}
	s.users = nil
	return failure
}

// createShared makes a database with access for each document; others is whether the server made
// one without. Users of the run are its members.
func (s *session) createShared(ctx context.Context, name string) (others bool, err error) {
	if err := s.signUp(ctx); err != nil {
		return false, err
	}
	if _, err := s.request(ctx, "PUT", s.db(name)+"?access=true", nil, 201); err != nil {
		return false, err
	}
	s.made = append(s.made, name)
	info, err := s.request(ctx, "GET", s.db(name), nil, 200)
	if err != nil {
		return false, err
	}
	others = !bytes.Contains(info, []byte(`"access":true`))
	return others, s.admit(ctx, name)
}

// admit lets the users of the run be members of a database.
func (s *session) admit(ctx context.Context, name string) error {
	members := []byte(`{"admins":{"roles":["_admin"]},"members":{"roles":["bench"]}}`)
	_, err := s.request(ctx, "PUT", s.db(name)+"/_security", members, 200)
	return err
}

// appendOwned writes the members of the n-th document: it is for a user and for a role, and names
// the user for a filter too.
func (s *session) appendOwned(b []byte, n int64) []byte {
	user := s.accessUser(int(n % int64(s.size.accessUsers)))
	b = fmt.Appendf(b, `"_access":[%q,"role:team%d"],"owner":%q,`, user, n%10, user)
	return s.docs.appendMembers(b, n)
}

// accessPuts measures writes of documents that are for a user and a role. Beside it stands put-64,
// whose documents are for all. Elsewhere they go into a database without access.
func accessPuts() *workload {
	const name, conns = "access-put-64", 64
	next := counters{}
	return &workload{
		name: name, unit: "docs/s", databases: []string{name},
		about: "PUT of new 1 KB documents for a user and a role, 64 connections",
		prepare: func(ctx context.Context, s *session) error {
			_, err := s.createShared(ctx, name)
			return err
		},
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			n := next.of(s)
			return s.load(ctx, demand{conns: conns, buffer: joinBelow, newStep: func(int) step {
				req := &request{method: "PUT"}
				base := s.db(name) + "/"
				return func(c *conn) (int64, error) {
					i := n.Add(1)
					req.path = appendID(append(req.path[:0], base...), i)
					req.body = s.appendOwned(append(req.body[:0], '{'), i)
					_, err := c.do(ctx, req, 201)
					return 1, err
				}
			}}, p.duration)
		},
	}
}

// accessSync measures what a client first asks of a database of all users: the changes of the user's
// own documents. Without access for each document they go through a filter, as in replications of
// CouchDB's users.
func accessSync() *workload {
	const name = "access-sync"
	filter := map[*session]string{}
	return &workload{
		name: name, unit: "docs/s", databases: []string{name},
		about: "_changes?include_docs=true of a user's own documents in a database of all users, 4 connections " +
			"(elsewhere a filter function)",
		prepare: func(ctx context.Context, s *session) error {
			others, err := s.createShared(ctx, name)
			if err != nil {
				return err
			}
			if others {
				filter[s] = "&filter=bench/own"
				own := []byte(`{"filters":{"own":"function (doc, req) { return doc.owner === req.userCtx.name }"}}`)
				if _, err := s.request(ctx, "PUT", s.db(name)+"/_design/bench", own, 201); err != nil {
					return err
				}
			}
			all := int64(s.size.accessUsers) * s.size.accessDocuments
			return s.fillWith(ctx, name, all, s.appendOwned)
		},
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			path := s.db(name) + "/_changes?include_docs=true" + filter[s]
			return s.sync(ctx, func(int) string { return path }, p)
		},
	}
}

// accessOwn is accessSync of databases of each user's own, on all servers.
func accessOwn() *workload {
	const name = "access-sync-own"
	own := func(user int) string { return name + "-" + strconv.Itoa(user) }
	w := &workload{
		name: name, unit: "docs/s",
		about: "the same of a database for each user, 4 connections",
		prepare: func(ctx context.Context, s *session) error {
			if err := s.signUp(ctx); err != nil {
				return err
			}
			for user := range s.size.accessUsers {
				if err := s.create(ctx, own(user)); err != nil {
					return err
				}
				if err := s.admit(ctx, own(user)); err != nil {
					return err
				}
				if err := s.fillWith(ctx, own(user), s.size.accessDocuments, s.appendOwned); err != nil {
					return err
				}
			}
			return nil
		},
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			return s.sync(ctx, func(user int) string { return s.db(own(user)) + "/_changes?include_docs=true" }, p)
		},
	}
	for user := range max(fullSizes.accessUsers, quickSizes.accessUsers) {
		w.databases = append(w.databases, own(user))
	}
	return w
}

// sync reads all changes of random users, each as that user.
func (s *session) sync(ctx context.Context, path func(user int) string, p plan) (sample, error) {
	return s.load(ctx, demand{conns: 4, buffer: bufferLarge, newStep: func(worker int) step {
		rnd := rand.New(rand.NewPCG(uint64(p.round), uint64(worker)))
		return func(c *conn) (int64, error) {
			user := rnd.IntN(len(s.users))
			c.target = s.users[user].target
			resp, err := c.do(ctx, &request{method: "GET", path: []byte(path(user))}, 200)
			if err == nil && (resp.lines < s.size.accessDocuments || resp.lines > s.size.accessDocuments+5) {
				err = fmt.Errorf("%d lines for %d documents of a user", resp.lines, s.size.accessDocuments)
			}
			return s.size.accessDocuments, err
		}
	}}, p.duration)
}

// accessWake measures how long a write for one user takes until that user's feeds have their
// answers, while the feeds of all others wait too: in a round no other may end.
func accessWake() *workload {
	const name = "access-wake"
	return &workload{
		name: name, unit: "ms", lessIsBetter: true, databases: []string{name},
		about: "time from a write for one user until that user's longpoll feeds have answered, among those of all users",
		prepare: func(ctx context.Context, s *session) error {
			others, err := s.createShared(ctx, name)
			if err == nil && others {
				err = errNoAccess
			}
			return err
		},
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			user := p.round % len(s.users)
			f, err := s.openFeedsAs(ctx, []string{name}, func(i int) *Target { return s.users[i%len(s.users)].target })
			if err != nil {
				return sample{}, err
			}
			defer f.close()
			if err := sleep(ctx, s.size.settle/4); err != nil {
				return sample{}, err
			}
			m, err := startMeter(s.target)
			if err != nil {
				return sample{}, err
			}
			elapsed, err := s.wakeUser(ctx, f, name, user, p.round)
			if err != nil {
				return sample{}, err
			}
			used, err := m.stop()
			return sample{value: float64(elapsed) / float64(time.Millisecond), units: 1, used: used}, err
		},
	}
}

// wakeUser writes a document for a user, and waits until as many feeds have ended as are the user's.
func (s *session) wakeUser(ctx context.Context, f *feeds, name string, user, round int) (time.Duration, error) {
	want := s.size.feeds / len(s.users)
	if user < s.size.feeds%len(s.users) {
		want++
	}
	body := slices.Concat(fmt.Appendf(nil, `{"_access":[%q],`, s.accessUser(user)), s.docs.body(int64(round))[1:])
	path := string(appendID([]byte(s.db(name)+"/"), int64(round)))
	start := time.Now()
	if _, err := s.request(ctx, "PUT", path, body, 201); err != nil {
		return 0, err
	}
	for time.Since(start) < parkLimit {
		ended, last, err := f.ends()
		if err != nil {
			return 0, err
		}
		if ended > want {
			return 0, fmt.Errorf("%d feeds ended, of which %d are the user's", ended, want)
		}
		if ended == want {
			return last.Sub(start), nil
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("the feeds of a user did not end in %s", parkLimit)
}
