package storage

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/coalesce"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/listeners"
	"github.com/settee-db/settee/storage/verify"
)

// TestSlicesShareNothing: what different users read and write at the same time, and would share a
// snapshot or a transaction elsewhere, is held to each user's own principals.
func TestSlicesShareNothing(t *testing.T) {
	h := &held{Store: memkv.New()}
	s := openStore(t, h)
	s.opens = coalesce.NewBatchers[string, openedDoc](1, coalesce.Limits{Running: 1, Batch: 64, Wait: time.Hour})
	must(t, s.Create(t.Context(), "db", CreateOptions{Access: true}))
	db := s.DB("db")
	put(t, db, "ann's", "", `{"_access":["ann"]}`)
	put(t, db, "bob's", "", `{"_access":["bob"]}`)
	ann, bob := db.As(access.Of("ann", nil)), db.As(access.Of("bob", nil))
	ids := []string{"ann's", "ann's", "ann's", "bob's", "bob's"}
	results, _ := openTogether(t, h, []*DB{db, ann, bob, ann, bob}, ids)
	for i, found := range []bool{true, true, false, false, true} {
		if found {
			require.NoError(t, results[i].err, i)
		} else {
			require.ErrorIs(t, results[i].err, compat.KindNotFound, i)
		}
	}
	s.edits = newEditBatchers(1)
	var edits sync.WaitGroup
	for i := range 40 {
		edits.Go(func() {
			names := []string{"ann", "bob"}
			own, other := names[i%2], names[(i+1)%2]
			as := db.As(access.Of(own, nil))
			for _, name := range []string{own, other} {
				d := doc(t, fmt.Sprintf("%s%d", name, i), "", fmt.Sprintf(`{"_access":[%q]}`, name))
				results, err := as.Update(t.Context(), []*compat.Document{d}, UpdateOptions{})
				if err != nil || (results[0].Err == nil) != (name == own) {
					t.Errorf("%s writes for %s: %v, %v", own, name, results, err)
				}
			}
		})
	}
	edits.Wait()
}

// TestSliceHistory: of a document's replaced revisions a user is shown those whose own list names
// the user, and only below a leaf that the user sees.
func TestSliceHistory(t *testing.T) {
	s := openStore(t, memkv.New())
	must(t, s.Create(t.Context(), "db", CreateOptions{Access: true}))
	db := s.DB("db")
	first := put(t, db, "a", "", `{"n":1,"_access":["ann"]}`)
	second := put(t, db, "a", first, `{"n":2,"_access":["ann","bob"]}`)
	put(t, db, "a", second, `{"n":3,"_access":["bob"]}`)
	bob := db.As(access.Of("bob", nil))
	doc, err := bob.Open(t.Context(), "a", docread.OpenOptions{RevsInfo: true, Revs: true})
	require.NoError(t, err)
	require.Len(t, doc.Revs.IDs, 3)
	statuses := fmt.Sprint(doc.RevsInfo[0].Status, doc.RevsInfo[1].Status, doc.RevsInfo[2].Status)
	require.Equal(t, "available available missing", statuses)
	for _, members := range []docread.Members{nil, docread.NoMembers, {[]byte(`"n"`)}} {
		_, err = bob.Open(t.Context(), "a", docread.OpenOptions{Rev: path(t, second).Rev(), Members: members})
		require.NoError(t, err)
		_, err = bob.Open(t.Context(), "a", docread.OpenOptions{Rev: path(t, first).Rev(), Members: members})
		require.ErrorIs(t, err, compat.KindNotFound)
	}
	ann := db.As(access.Of("ann", nil))
	for _, rev := range []string{first, second} {
		_, err = ann.Open(t.Context(), "a", docread.OpenOptions{Rev: path(t, rev).Rev()})
		require.ErrorIs(t, err, compat.KindNotFound)
	}
}

// TestSliceCommit: a transaction of a user over several documents finds what the user sees, and
// writes nothing where one of them is another's.
func TestSliceCommit(t *testing.T) {
	s := openStore(t, memkv.New())
	must(t, s.Create(t.Context(), "db", CreateOptions{Access: true}))
	db := s.DB("db")
	hidden := put(t, db, "bob's", "", `{"_access":["bob"]}`)
	own := put(t, db, "ann's", "", `{"_access":["ann"]}`)
	ann := db.As(access.Of("ann", nil))
	commit := func(seen compat.Rev, edits ...*compat.Document) *CommitError {
		c := DatabaseCommit{DB: ann, Sent: edits, Reads: []ReadRev{{"bob's", seen}, {"ann's", path(t, own).Rev()}}}
		err := s.Commit(t.Context(), &Commit{Databases: []DatabaseCommit{c}})
		if err == nil {
			return nil
		}
		var refused *CommitError
		require.ErrorAs(t, err, &refused)
		return refused
	}
	require.Len(t, commit(path(t, hidden).Rev()).Read, 1, "a user cannot have read it")
	mine, others := doc(t, "new", "", `{"_access":["ann"]}`), doc(t, "bob's", hidden, `{"_access":["bob"]}`)
	refused := commit(compat.Rev{}, mine, others)
	require.Len(t, refused.Refused, 1)
	_, err := ann.Open(t.Context(), "new", docread.OpenOptions{})
	require.ErrorIs(t, err, compat.KindNotFound)
	require.Nil(t, commit(compat.Rev{}, doc(t, "new", "", `{"_access":["ann"]}`)))
	_, err = ann.Open(t.Context(), "new", docread.OpenOptions{})
	require.NoError(t, err)
}

// TestManyReaders: the leaves of a document name at most so many together that its record holds
// them.
func TestManyReaders(t *testing.T) {
	s := openStore(t, memkv.New())
	must(t, s.Create(t.Context(), "db", CreateOptions{Access: true}))
	for branch := range 3 {
		list := ""
		for i := range access.MaxEntries {
			list += fmt.Sprintf(`,"user%0250d"`, branch*access.MaxEntries+i)
		}
		d := doc(t, "a", fmt.Sprintf("1-%032x", branch), `{"_access":[`+list[1:]+`]}`)
		results, err := s.DB("db").Update(t.Context(), []*compat.Document{d}, UpdateOptions{Replicated: true})
		require.NoError(t, err)
		require.Equal(t, branch < 2, results[0].Err == nil, branch)
	}
	user := fmt.Sprintf("user%0250d", access.MaxEntries)
	doc, err := s.DB("db").As(access.Of(user, nil)).Open(t.Context(), "a", docread.OpenOptions{})
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("1-%032x", 1), doc.Rev.String())
}

// compareNamed asks whose feeds wake after a state: those of the principals that see a document which
// was changed since, or for whom it is gone.
func (m *sliceModel) compareNamed(since []byte) {
	seq, err := keyspace.ParseSeq(since)
	must(m.t, err)
	named := map[string]bool{}
	for _, id := range m.ids {
		if !seq.Before(m.seq(id)) {
			continue
		}
		for _, list := range m.lists[id] {
			for _, p := range list {
				named[p] = true
			}
		}
		for p := range m.gone {
			if _, gone := m.gone[p][id]; gone {
				named[p] = true
			}
		}
	}
	got, err := readStates(m.db)(m.t.Context(), since)
	must(m.t, err)
	want(m.t, "whose feeds wake", got.Named, named)
	for _, who := range m.who {
		principals := slices.Collect(who.All())
		woken := slices.ContainsFunc(principals, func(p string) bool { return named[p] })
		for _, row := range m.feed(who) {
			if seq.Before(row.seq) && !woken {
				m.t.Errorf("nothing wakes %v for %v", principals, row)
			}
		}
	}
}

// TestOnlyReadersWake: of thousands of users who wait for their feeds an update wakes those who see
// the document or have lost it; one of more documents than are looked at wakes all.
func TestOnlyReadersWake(t *testing.T) {
	const users = 5000
	s := openStore(t, memkv.New())
	must(t, s.Create(t.Context(), "db", CreateOptions{Access: true}))
	db := s.DB("db")
	listen := func(db *DB) *listeners.Listener {
		l, err := db.Feed().Listen(t.Context())
		require.NoError(t, err)
		t.Cleanup(l.Close)
		return l
	}
	var of [users]*listeners.Listener
	for i := range of {
		of[i] = listen(db.As(access.Of(fmt.Sprint("user", i), []string{fmt.Sprint("team", i%100)})))
	}
	all := listen(db)
	woken := func() (who []int) {
		t.Helper()
		require.NoError(t, all.Wait(t.Context())) // users are woken together with it
		for i, l := range of {
			select {
			case <-l.C():
				require.NoError(t, l.Wait(t.Context()))
				who = append(who, i)
			default:
			}
		}
		return who
	}
	rev := put(t, db, "a", "", `{"_access":["user7","user11"]}`)
	require.Equal(t, []int{7, 11}, woken())
	put(t, db, "a", rev, `{"_access":["user11","user4000"]}`)
	require.Equal(t, []int{7, 11, 4000}, woken())
	put(t, db, "b", "", `{"_access":["role:team3"]}`)
	require.Len(t, woken(), users/100)
	put(t, db, "c", "", `{"_access":["_users"]}`)
	require.Len(t, woken(), users)
	put(t, db, "d", "", `{}`)
	require.Empty(t, woken())
	var docs []*compat.Document
	for i := range 1001 {
		docs = append(docs, doc(t, fmt.Sprint("e", i), "", `{"_access":["user1"]}`))
	}
	before, err := readStates(db)(t.Context(), nil)
	require.NoError(t, err)
	_, err = db.Update(t.Context(), docs, UpdateOptions{})
	require.NoError(t, err)
	state, err := readStates(db)(t.Context(), before.Value)
	require.NoError(t, err)
	require.Nil(t, state.Named)
}

// TestCheckFindsWrongRows: the check of a store tells of each row of a principal that is missing, in
// excess, or another than the leaves say, and of each count.
func TestCheckFindsWrongRows(t *testing.T) {
	engine := memkv.New()
	defer engine.Close()
	s, err := Open(t.Context(), Options{KV: engine, Manual: true})
	must(t, err)
	defer s.Close()
	must(t, s.Create(t.Context(), "db", CreateOptions{Access: true}))
	put(t, s.DB("db"), "a", put(t, s.DB("db"), "a", "", `{"_access":["ann","bob"]}`), `{"_access":["ann"]}`)
	put(t, s.DB("db"), "b", "", `{"_access":["ann"]}`)
	var keys [][]byte
	must(t, s.DB("db").view(t.Context(), func(d *dbRead) error {
		begin, end := keyspace.Children(d.Keys.Sub(nil, keyspace.TagAccess))
		it := d.R.Range(begin, end, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			keys = append(keys, append([]byte{}, it.Key()...))
		}
		return it.Err()
	}))
	require.Len(t, keys, 3+2+4, "rows, lists, counts")
	found := func() (n int) {
		violations, err := verify.Check(t.Context(), engine, nil)
		must(t, err)
		for _, v := range violations {
			require.Equal(t, 19, v.Invariant, v.String())
			n++
		}
		return n
	}
	require.Zero(t, found())
	for _, key := range keys {
		var value []byte
		change := func(fn func(tx kv.Tx)) {
			_, err := engine.Update(t.Context(), func(tx kv.Tx) (err error) {
				if v, err := tx.Get(key); err == nil && v != nil {
					value = append([]byte{}, v...)
				}
				fn(tx)
				return err
			})
			must(t, err)
		}
		change(func(tx kv.Tx) { tx.Clear(key) })
		if keyspace.Counter(value) > 0 || len(value) != 8 { // no counter is a zero
			require.Positive(t, found(), "%q is cleared", key)
		}
		change(func(tx kv.Tx) { tx.Set(key, value) })
		require.Zero(t, found())
		excess := append([]byte{}, key...)
		excess[len(excess)-2] += 7
		if len(value) != 8 && len(value) != keyspace.SeqSize {
			change(func(tx kv.Tx) { tx.Set(excess, value) })
			require.Positive(t, found(), "%q is in excess", excess)
			change(func(tx kv.Tx) { tx.Clear(excess) })
		}
	}
}
