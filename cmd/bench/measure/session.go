package measure

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"
)

// sizes are how much the workloads move and how long they wait; a smoke run has smaller ones.
type sizes struct {
	documents       int64 // in the database that is read
	diskDocuments   int64 // in the database whose disk use is measured
	viewDocuments   int64 // in the database of views
	groupDocuments  int64 // in the database of groups
	bulk            int   // documents of a _bulk_docs request
	bulkGet         int   // ids of a _bulk_get request
	accessUsers     int   // of databases with access for each document
	accessDocuments int64 // of each of them
	feeds           int
	smallAttachment int // bytes
	largeAttachment int
	attachmentBytes int64 // uploaded at most in a round
	eventWorkers    int   // of an event function
	timers          int   // of an event function, pending while others are measured
	timersFired     int   // together
	waits
}

// waits are times in which nothing is measured.
type waits struct {
	pause      time.Duration // in several of which in a row a server must do nothing; see comeToRest
	settle     time.Duration // before the memory of feeds is looked at
	diskSteady time.Duration // as long unchanged, a data directory counts as settled
	rest       time.Duration // at the end, before memory at rest is looked at
	timerLead  time.Duration // from the making of timers to when they are due
}

var fullSizes = sizes{
	documents:       20_000,
	diskDocuments:   100_000,
	viewDocuments:   100_000,
	groupDocuments:  1_000_000,
	bulk:            1000,
	bulkGet:         200,
	accessUsers:     100,
	accessDocuments: 1000,
	feeds:           5000,
	smallAttachment: 256 << 10,
	largeAttachment: 64 << 20,
	attachmentBytes: 256 << 20,
	eventWorkers:    2,
	timers:          1_000_000,
	timersFired:     10_000,
	waits: waits{
		pause:      200 * time.Millisecond,
		settle:     2 * time.Second,
		diskSteady: 6 * time.Second,
		rest:       5 * time.Second,
		timerLead:  3 * time.Second,
	},
}

var quickSizes = sizes{documents: 2000, diskDocuments: 5000, viewDocuments: 5000, groupDocuments: 10_000,
	bulk: 1000, bulkGet: 200, accessUsers: 20, accessDocuments: 100, feeds: 500,
	smallAttachment: 256 << 10, largeAttachment: 16 << 20, attachmentBytes: 32 << 20,
	eventWorkers: 2, timers: 10_000, timersFired: 1000,
	waits: waits{pause: 50 * time.Millisecond, settle: time.Second, diskSteady: 2 * time.Second, rest: time.Second,
		timerLead: time.Second}}

// session is a run's dealings with one server. Its methods are not safe for concurrent use.
type session struct {
	target  *Target
	docs    *documents
	blob    []byte // what attachments are cut from
	size    sizes
	prefix  string   // of the names of all databases of the run
	control *conn    // for what is not measured
	made    []string // databases that exist
	views   []string // design documents that were added to them
	users   []benchUser

	node           string           // program that runs what follows feeds in the place of functions; "": this one does
	deployable     []*eventFunction // those that exist
	functions      bool             // whether the server has event functions
	functionsKnown bool
}

// connect opens a connection whose requests fail for good after so long. The caller closes it.
func (s *session) connect(ctx context.Context, limit time.Duration) (*conn, error) {
	c, err := dial(ctx, s.target, joinBelow)
	if err != nil {
		return nil, err
	}
	if err := c.limit(limit); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func newSession(
	ctx context.Context,
	t *Target,
	docs *documents,
	blob []byte,
	size sizes,
	prefix string,
) (*session, error) {
	control, err := dial(ctx, t, bufferLarge)
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", t.Name, err)
	}
	control.keep = true
	return &session{target: t, docs: docs, blob: blob, size: size, prefix: prefix, control: control}, nil
}

// request sends a request outside the measured time and returns the body of the answer, valid until
// the next call.
func (s *session) request(ctx context.Context, method, path string, body []byte, want int) ([]byte, error) {
	if s.control.nc != nil {
		if err := s.control.limit(requestLimit); err != nil {
			return nil, err
		}
	}
	_, err := s.control.do(ctx, &request{method: method, path: []byte(path), body: body}, want)
	return s.control.body, err
}

// db is the path of a database of this run.
func (s *session) db(name string) string { return "/" + s.prefix + name }

func (s *session) create(ctx context.Context, name string) error {
	if _, err := s.request(ctx, "PUT", s.db(name), nil, 201); err != nil {
		return err
	}
	s.made = append(s.made, name)
	return nil
}

func (s *session) drop(ctx context.Context, name string) error {
	i := slices.Index(s.made, name)
	if i < 0 {
		return nil
	}
	if _, err := s.request(ctx, "DELETE", s.db(name), nil, 200); err != nil {
		return err
	}
	s.made = slices.Delete(s.made, i, i+1)
	return nil
}

// fill creates a database with count documents, ids 0 to count-1, unless it exists.
func (s *session) fill(ctx context.Context, name string, count int64) error {
	if slices.Contains(s.made, name) {
		return nil
	}
	if err := s.create(ctx, name); err != nil {
		return err
	}
	return s.fillExisting(ctx, name, count)
}

// fillExisting is fill for an empty database.
func (s *session) fillExisting(ctx context.Context, name string, count int64) error {
	return s.fillWith(ctx, name, count, s.docs.appendMembers)
}

// fillWith is fillExisting with other documents, whose members are appended as by appendMembers.
func (s *session) fillWith(
	ctx context.Context, name string, count int64, members func(b []byte, n int64) []byte,
) error {
	var body []byte
	for first := int64(0); first < count; first += int64(s.size.bulk) {
		n := min(count-first, int64(s.size.bulk))
		body = appendBulk(body[:0], first, int(n), members)
		answer, err := s.request(ctx, "POST", s.db(name)+"/_bulk_docs", body, 201)
		if err != nil {
			return err
		}
		if stored := int64(bytes.Count(answer, []byte(`"ok":true`))); stored != n {
			return fmt.Errorf("server %s stored %d of %d documents", s.target.Name, stored, n)
		}
	}
	return nil
}

// close deletes what is left of the run, also after it was cancelled.
func (s *session) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	first := s.signOff(ctx)
	for _, f := range slices.Clone(s.deployable) {
		if err := f.remove(ctx); first == nil {
			first = err
		}
	}
	for _, name := range slices.Clone(s.made) {
		if err := s.drop(ctx, name); first == nil {
			first = err
		}
	}
	s.control.close()
	return first
}
