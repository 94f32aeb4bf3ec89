package replication

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// memoryPeer is a database in memory that fails now and then. Revisions have no ancestors: each is
// a leaf of its own.
type memoryPeer struct {
	name string

	mu     sync.Mutex
	random *rand.Rand
	rate   float64 // share of calls that fail
	calls  int
	docs   map[string]map[compat.Rev]string // JSON by id and revision
	feed   []string                         // ids in the order of their last change
	local  map[string]*LocalDocument
	refuse map[string]bool // ids that are not taken
	born   string          // instance_start_time
	bulk   bool            // _bulk_get is there
	atts   map[string][]byte
}

var errMemory = errors.New("memory peer fails")

func newMemoryPeer(name string, seed uint64) *memoryPeer {
	return &memoryPeer{
		name: name, random: rand.New(rand.NewPCG(seed, 3)), docs: map[string]map[compat.Rev]string{},
		local: map[string]*LocalDocument{}, refuse: map[string]bool{}, born: `"1"`, bulk: true,
		atts: map[string][]byte{},
	}
}

// enter counts a call and decides whether it fails; the lock is held then.
func (p *memoryPeer) enter() error {
	p.mu.Lock()
	p.calls++
	if p.random.Float64() < p.rate {
		p.mu.Unlock()
		return errMemory
	}
	return nil
}

func (p *memoryPeer) put(id string, rev compat.Rev, json string) {
	if p.docs[id] == nil {
		p.docs[id] = map[compat.Rev]string{}
	}
	if _, again := p.docs[id][rev]; again {
		return
	}
	p.docs[id][rev] = json
	if i := slices.Index(p.feed, id); i >= 0 {
		p.feed[i] = "" // its place is empty now
	}
	p.feed = append(p.feed, id)
}

func (p *memoryPeer) write(i int, att string) {
	rev := compat.Rev{Pos: 1, Hash: fmt.Sprintf("r%d", p.random.Uint64())}
	id := fmt.Sprintf("d%d", i)
	member := ""
	if att != "" {
		member = `,"_attachments":{"a":{"content_type":"x/y","follows":true,"length":` + strconv.Itoa(len(att)) + `}}`
		p.atts[id+rev.String()] = []byte(att)
	}
	p.put(id, rev, `{"_id":"`+id+`","_rev":"`+rev.String()+`"`+member+`}`)
}

func (p *memoryPeer) URI() string { return "memory:" + p.name }
func (p *memoryPeer) Close()      {}

func (p *memoryPeer) Open(context.Context, bool, []Header) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.mu.Unlock()
	return nil
}

func (p *memoryPeer) Info(context.Context) (Info, error) {
	if err := p.enter(); err != nil {
		return Info{}, err
	}
	defer p.mu.Unlock()
	return Info{UpdateSeq: Sequence(strconv.Itoa(len(p.feed))), InstanceStart: p.born}, nil
}

func (p *memoryPeer) OpenLocal(_ context.Context, id string) (*LocalDocument, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.mu.Unlock()
	if d := p.local[id]; d != nil {
		c := *d
		return &c, nil
	}
	return nil, nil
}

func (p *memoryPeer) PutLocal(_ context.Context, id string, doc LocalDocument) (string, error) {
	if err := p.enter(); err != nil {
		return "", err
	}
	defer p.mu.Unlock()
	n := 0
	if old := p.local[id]; old != nil {
		if old.Rev != doc.Rev {
			return "", ErrConflict
		}
		n, _ = strconv.Atoi(strings.TrimPrefix(old.Rev, "0-"))
	}
	doc.Rev = "0-" + strconv.Itoa(n+1)
	p.local[id] = &doc
	return doc.Rev, nil
}

func (p *memoryPeer) Commit(context.Context) (string, error) {
	if err := p.enter(); err != nil {
		return "", err
	}
	defer p.mu.Unlock()
	return p.born, nil
}

func (p *memoryPeer) OpenDocument(context.Context, string) ([]byte, error) {
	return nil, ReadFailed("not_found")
}

func (p *memoryPeer) Changes(ctx context.Context, r ChangesRequest, row func(ChangeRow) error) (Sequence, error) {
	since, _ := strconv.Atoi(r.Since.Query())
	for i := since; ; i++ {
		if err := p.enter(); err != nil {
			return "", err
		}
		if i >= len(p.feed) {
			p.mu.Unlock()
			return Sequence(strconv.Itoa(i)), nil
		}
		c := ChangeRow{Seq: Sequence(strconv.Itoa(i + 1)), ID: p.feed[i]}
		for rev := range p.docs[c.ID] {
			c.Revs = append(c.Revs, rev)
		}
		p.mu.Unlock()
		if c.ID == "" {
			continue
		}
		if err := row(c); err != nil {
			return "", err
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
}

func (p *memoryPeer) Pending(context.Context, Sequence) (int64, bool) { return 0, false }

func (p *memoryPeer) RevsDiff(_ context.Context, asked []IDRevs) (out []Missing, err error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.mu.Unlock()
	for _, a := range asked {
		m := Missing{ID: a.ID}
		for _, rev := range a.Revs {
			if _, ok := p.docs[a.ID][rev]; !ok {
				m.Revs = append(m.Revs, rev)
			}
		}
		if len(m.Revs) > 0 {
			out = append(out, m)
		}
	}
	return out, nil
}

func (p *memoryPeer) BulkGet(_ context.Context, wanted []Wanted, found func(int, []byte) error) error {
	for i, w := range wanted {
		if err := p.enter(); err != nil {
			return errBulkGet
		}
		json, ok := p.docs[w.ID][w.Rev]
		bulk := p.bulk
		p.mu.Unlock()
		if !bulk {
			return errBulkGet
		}
		if ok && !strings.Contains(json, "_attachments") {
			if err := found(i, []byte(json)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *memoryPeer) Fetch(_ context.Context, w Wanted, take func(*Document) error) error {
	if err := p.enter(); err != nil {
		return err
	}
	json, ok := p.docs[w.ID][w.Rev]
	att, has := p.atts[w.ID+w.Rev.String()]
	p.mu.Unlock()
	if !ok {
		return ErrMissingDoc
	}
	d := &Document{ID: w.ID, Rev: w.Rev, JSON: []byte(json)}
	if has {
		d.Attachments = []Attachment{
			{Name: "a", Type: "x/y", Length: int64(len(att)), Copy: func(_ context.Context, out io.Writer) error {
				_, err := out.Write(att)
				return err
			}},
		}
	}
	return take(d)
}

func (p *memoryPeer) Put(ctx context.Context, d *Document) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.mu.Unlock()
	if p.refuse[d.ID] {
		return &Refusal{ID: d.ID, Word: "forbidden"}
	}
	for i := range d.Attachments {
		var b strings.Builder
		if err := d.Attachments[i].Copy(ctx, &b); err != nil {
			return err
		}
		p.atts[d.ID+d.Rev.String()] = []byte(b.String())
	}
	p.put(d.ID, d.Rev, string(d.JSON))
	return nil
}

func (p *memoryPeer) BulkWrite(_ context.Context, docs [][]byte) (refused []Refusal, err error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.mu.Unlock()
	for _, d := range docs {
		v, err := ejson.Parse(d)
		if err != nil {
			return nil, err
		}
		id := memberText(v, "_id")
		if p.refuse[id] {
			refused = append(refused, Refusal{ID: id, Word: "forbidden"})
			continue
		}
		rev, err := compat.ParseRev(memberText(v, "_rev"))
		if err != nil {
			return nil, err
		}
		p.put(id, rev, string(d))
	}
	return refused, nil
}
