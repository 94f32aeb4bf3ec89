package storage

import (
	"fmt"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// The key space. Keys are FoundationDB tuples, so that other tools can read them; values are described at their codecs.
//
//	(rootMeta)                              format of the store and its uuid              ../cluster/format/
//	(rootDBs, name)                         database record                                       record.go
//	(rootNextPrefix)                        next database prefix, 8 bytes little-endian           database.go
//	(rootJobs, …)                           the queue of background jobs                  jobs/
//	(rootEventing, …)                       event functions                               ../eventing/
//	(rootExpiries, …)                       revisions that expire                         expiry/
//	(rootNodes, …)                          the processes that have the store open        ../cluster/nodes/
//	(rootSettings, …)                       settings that they share                      ../cluster/settings/
//	(rootLogins, …)                         failed logins that they tell each other of    ../cluster/logins/
//	(rootHome)                              identity of the cluster that the store is on          moved/
//	(11, …)                                 jobs of _reshard that older versions kept; nothing reads them
//	(prefix, TagX, …)                       a database, prefix >= firstPrefix:
//
//	TagSecurity                             security object, JSON                                 security.go
//	TagStats, stat                          counter, 8 bytes little-endian                        stats.go
//	TagAllDocs, id                          winner: depth, hash, kilobytes                        leafrecord.go
//	TagChanges + 13 bytes of seq            deleted, leaf count, winner, kilobytes, id            leafrecord.go
//	TagRevs, id, not deleted, depth, hash   leaf record, of a winner with its entry if short      leafrecord.go
//	TagRevs, …, chunk (int)                 further bytes of a leaf record with a long line       leafrecord.go
//	TagDocs, id, not deleted, depth, hash   entry that is not in the leaf record                  entry.go
//	TagHistory, id, depth, hash             entry of a replaced revision                          entry.go
//	TagLocal, id [, chunk]                  local document: revision number, body                 local.go
//	TagAtt, blob id (16 bytes), chunk       bytes of attachments and of large bodies              attachments.go
//	TagAttRefs, blob id                     reference count, 8 bytes little-endian                attachments.go
//	TagAttPending, blob id                  lease of bytes that no entry names                    attachments.go
//	TagPurges + 13 bytes of seq             id, revisions asked to purge                          purge.go
//	TagPartStats, partition, stat           counter, 8 bytes little-endian                        stats.go
//	TagRankIDs, level, id                   count, 8 bytes little-endian                          rank.go
//	TagSeqBlocks, …                         blocks of the sequence index                          seqblocks.go
//	TagLastSeq                              13 bytes of seq, of the last update                   tx.go
//	TagPurgeSeq                             13 bytes of seq, of the last purge                    purge.go
//	TagCountLog, …                          changes that the counts do not have yet               countlog.go
//	TagDesigns                              13 bytes of seq, of the last change of design documents   designdocs.go
//	TagViews, TagMango, TagEventing, TagExpiry, TagSearch  of higher layers (Tx.AppendPrefix)
const (
	rootMeta = iota
	rootDBs
	rootNextPrefix
	rootJobs
	rootEventing
	rootExpiries
	rootNodes
	rootSettings
	rootLogins
	_ // claims of replications, which are jobs now
	rootHome
	_ // 11 is taken, see above

	// firstPrefix is the first database's prefix; the tuple integers below are tags of the root.
	firstPrefix = 32
)

// Tag names a subspace of a database.
type Tag int64

// The subspaces. Numbers are on disk: never change or reuse one.
const (
	TagSecurity   Tag = 1
	TagStats      Tag = 2
	TagAllDocs    Tag = 3
	TagChanges    Tag = 4
	TagRevs       Tag = 5
	TagDocs       Tag = 6
	TagHistory    Tag = 7
	TagLocal      Tag = 8
	TagAtt        Tag = 9
	TagAttRefs    Tag = 10
	TagAttPending Tag = 11
	TagPurges     Tag = 12
	TagPartStats  Tag = 13
	TagRankIDs    Tag = 14
	TagSeqBlocks  Tag = 15
	TagLastSeq    Tag = 16
	TagPurgeSeq   Tag = 17
	TagCountLog   Tag = 18
	TagDesigns    Tag = 19
	TagViews      Tag = 32
	TagMango      Tag = 33
	TagEventing   Tag = 34
	TagExpiry     Tag = 35
	TagSearch     Tag = 36
)

// maxEntry is the number of bytes stored in one value; what is longer is cut into chunks. It leaves room below
// FoundationDB's 100,000 for what later formats may add.
const maxEntry = 90_000

func rootKey(tag int64) []byte { return tuple.AppendInt(nil, tag) }

// HeadKey is the key of the head of the store (package cluster/format).
func HeadKey() []byte { return rootKey(rootMeta) }

// JobsPrefix is the key prefix of the queue of background jobs (package storage/jobs).
func JobsPrefix() []byte { return rootKey(rootJobs) }

// EventingPrefix is the key prefix of event functions (package eventing).
func EventingPrefix() []byte { return rootKey(rootEventing) }

// ExpiryPrefix is the key prefix of revisions that expire (package storage/expiry).
func ExpiryPrefix() []byte { return rootKey(rootExpiries) }

// NodesPrefix is the key prefix of the processes that have the store open (package cluster/nodes).
func NodesPrefix() []byte { return rootKey(rootNodes) }

// SettingsPrefix is the key prefix of settings that processes share (package cluster/settings).
func SettingsPrefix() []byte { return rootKey(rootSettings) }

// LoginsPrefix is the key prefix of failed logins (package cluster/logins).
func LoginsPrefix() []byte { return rootKey(rootLogins) }

// HomeKey is the key of the identity of the cluster that the store is on (package storage/moved).
func HomeKey() []byte { return rootKey(rootHome) }

func dbRecordKey(name string) []byte { return tuple.AppendString(tuple.AppendInt(nil, rootDBs), name) }

func parseDBRecordKey(key []byte) (string, error) {
	_, rest, err := tuple.ReadInt(key)
	if err != nil {
		return "", err
	}
	name, _, err := tuple.ReadString(rest)
	return name, err
}

// space is the key prefix of one database. Its methods append keys to dst.
type space string

func newSpace(prefix int64) space { return space(tuple.AppendInt(nil, prefix)) }

func (s space) sub(dst []byte, tag Tag) []byte {
	if dst == nil {
		dst = make([]byte, 0, usualKey)
	}
	return tuple.AppendInt(append(dst, s...), int64(tag))
}

// usualKey is a length that most keys stay below.
const usualKey = 96

func (s space) stat(dst []byte, n stat) []byte {
	return tuple.AppendInt(s.sub(dst, TagStats), int64(n))
}

func (s space) partStat(dst []byte, partition string, n stat) []byte {
	return tuple.AppendInt(tuple.AppendString(s.sub(dst, TagPartStats), partition), int64(n))
}

func (s space) allDocs(dst []byte, id string) []byte {
	return tuple.AppendString(s.sub(dst, TagAllDocs), id)
}

// seqKey is a key of TagChanges or TagPurges; the 10 bytes that a commit fills in are at seqStampOffset.
func (s space) seqKey(dst []byte, tag Tag, seq Seq) []byte { return AppendSeq(s.sub(dst, tag), seq) }

// seqStampOffset is where the versionstamp begins in a key made by seqKey.
func (s space) seqStampOffset(key []byte) int { return len(key) - SeqSize + 1 }

// doc is the common prefix of a document's keys in TagRevs, TagDocs and TagHistory.
func (s space) doc(dst []byte, tag Tag, id string) []byte {
	return tuple.AppendString(s.sub(dst, tag), id)
}

// leaf is the key of a leaf in TagRevs or TagDocs.
func (s space) leaf(dst []byte, tag Tag, id string, deleted bool, rev compat.Rev) []byte {
	return AppendRevision(tuple.AppendBool(s.doc(dst, tag, id), !deleted), rev)
}

// ofEntry is the key of TagDocs of the leaf that has a key of TagRevs.
func (s space) ofEntry(leaf []byte) []byte {
	key := s.sub(make([]byte, 0, len(leaf)), TagDocs)
	return append(key, leaf[len(s.sub(nil, TagRevs)):]...)
}

func (s space) history(dst []byte, id string, rev compat.Rev) []byte {
	return AppendRevision(s.doc(dst, TagHistory, id), rev)
}

func (s space) local(dst []byte, id string) []byte {
	return tuple.AppendString(s.sub(dst, TagLocal), id)
}

func (s space) attachment(dst []byte, tag Tag, ref string) []byte {
	return tuple.AppendBytes(s.sub(dst, tag), ref)
}

func (s space) rank(dst []byte, tag Tag, level int) []byte {
	return tuple.AppendInt(s.sub(dst, tag), int64(level))
}

// parseLeafKey reads what follows the document's prefix in a key of TagRevs or TagDocs; rest is a chunk number, in
// TagRevs.
func parseLeafKey(suffix []byte) (deleted bool, rev compat.Rev, rest []byte, err error) {
	live, rest, err := tuple.ReadBool(suffix)
	if err != nil {
		return false, compat.Rev{}, nil, corrupt("leaf key", err)
	}
	rev, rest, err = ParseRevision(rest)
	return !live, rev, rest, err
}

// AppendRevision appends a revision as it is in keys: (depth, hash).
func AppendRevision(dst []byte, rev compat.Rev) []byte {
	return tuple.AppendBytes(tuple.AppendInt(dst, rev.Pos), rev.Hash)
}

// ParseRevision reads what AppendRevision has written, and gives what follows; kv.ErrCorrupt if it is no revision.
func ParseRevision(suffix []byte) (compat.Rev, []byte, error) {
	pos, rest, err := tuple.ReadInt(suffix)
	if err != nil {
		return compat.Rev{}, nil, corrupt("revision key", err)
	}
	hash, rest, err := tuple.ReadBytes(rest)
	if err != nil {
		return compat.Rev{}, nil, corrupt("revision key", err)
	}
	return compat.Rev{Pos: pos, Hash: string(hash)}, rest, nil
}

// SeqSize is the length of a sequence in keys and values: incarnation and versionstamp.
const SeqSize = 1 + len(Seq{}.Versionstamp)

// AppendSeq appends a sequence as it is stored.
func AppendSeq(dst []byte, seq Seq) []byte {
	return append(append(dst, seq.Incarnation), seq.Versionstamp[:]...)
}

// ParseSeq reads the sequence that b, a value or a key, ends with; kv.ErrCorrupt if b is too short.
func ParseSeq(b []byte) (seq Seq, err error) {
	if len(b) < SeqSize {
		return seq, corrupt("sequence", nil)
	}
	b = b[len(b)-SeqSize:]
	seq.Incarnation = b[0]
	copy(seq.Versionstamp[:], b[1:])
	return seq, nil
}

// children gives begin and end of the tuple key and of all keys that extend it by further elements. (A range of all
// keys with the prefix would be wrong: an element that ends in the key may go on with an escaped zero byte in another
// one.)
func children(key []byte) (begin, end []byte) {
	return key, append(key[:len(key):len(key)], 0xff)
}

// corrupt reports stored bytes that no code of ours writes.
func corrupt(what string, err error) error {
	if err == nil {
		return fmt.Errorf("storage: malformed %s: %w", what, kv.ErrCorrupt)
	}
	return fmt.Errorf("storage: malformed %s: %v: %w", what, err, kv.ErrCorrupt)
}
