package keyspace

import (
	"fmt"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// The key space. Keys are FoundationDB tuples, so that other tools can read them; values are
// described at their codecs.
//
//	(rootMeta)                              format of the store and its uuid           ../../cluster/format/
//	(rootDBs, name)                         database record                            record.go
//	(rootNextPrefix)                        next database prefix, 8 bytes little-endian ../database.go
//	(rootJobs, …)                           the queue of background jobs               ../jobs/
//	(rootEventing, …)                       event functions                            ../../eventing/
//	(rootExpiries, …)                       revisions that expire                      ../expiry/
//	(rootNodes, …)                          the processes that have the store open     ../../cluster/nodes/
//	(rootSettings, …)                       settings that they share                   ../../cluster/settings/
//	(rootLogins, …)                         failed logins that they tell each other of ../../cluster/logins/
//	(rootAnswers, …)                        answers to requests with a key of their own ../answers/
//	(rootHome)                              identity of the cluster that the store is on ../moved/
//	(11, …)                                 jobs of _reshard that older versions kept; nothing reads them
//	(prefix, TagX, …)                       a database, prefix >= FirstPrefix:
//
//	TagSecurity                             security object, JSON                      ../security.go
//	TagStats, stat                          counter, 8 bytes little-endian             counters.go
//	TagAllDocs, id                          winner: depth, hash, kilobytes             ../formats/leafrecord.go
//	TagChanges + 13 bytes of seq            deleted, leaf count, winner, kilobytes, id ../formats/leafrecord.go
//	TagRevs, id, not deleted, depth, hash   leaf record, of a winner with its entry if short ../formats/leafrecord.go
//	TagRevs, …, chunk (int)                 further bytes of a leaf record with a long line ../formats/leafrecord.go
//	TagDocs, id, not deleted, depth, hash   entry that is not in the leaf record       ../formats/entry.go
//	TagHistory, id, depth, hash             entry of a replaced revision               ../formats/entry.go
//	TagLocal, id [, chunk]                  local document: revision number, body      ../local.go
//	TagAtt, blob id (16 bytes), chunk       bytes of attachments and of large bodies   ../blobs/
//	TagAtt, blob id, -1                     where the members of a large body are      ../formats/members.go
//	TagAttRefs, blob id                     reference count, 8 bytes little-endian     ../blobs/
//	TagAttPending, blob id                  lease of bytes that no entry names         ../blobs/
//	TagPurges + 13 bytes of seq             id, revisions asked to purge               ../purge.go
//	TagPartStats, partition, stat           counter, 8 bytes little-endian             counters.go
//	TagRankIDs, level, id                   count, 8 bytes little-endian               ../counts/reader.go
//	TagSeqBlocks, …                         blocks of the sequence index               ../counts/seqblocks.go
//	TagLastSeq                              13 bytes of seq, of the last update        ../tx.go
//	TagPurgeSeq                             13 bytes of seq, of the last purge         ../purge.go
//	TagCountLog, …                          changes that the counts do not have yet    ../counts/log.go
//	TagTimes                                13 bytes of seq: times up to it are forgotten ../counts/times.go
//	TagTimes, 1, second                     where in the feed the changes since a second begin ../timeseq/
//	TagTombstones                           13 bytes of seq: how far the index is built ../tombstones/
//	TagTombstones + 13 bytes of seq         id of the deleted document that CHANGES has there ../tombstones/
//	TagReplaced, ms, id, depth, hash        nothing; TagHistory has an entry replaced then ../replaced/
//	TagAccess, …                            which documents each principal sees        ../audience/
//	TagDesigns                              13 bytes of seq, of the last change of design documents ../designdocs.go
//	TagUses, design document [, kind, name]  when queries used its indexes              ../lastuse/
//	TagViews, TagMango, TagEventing, TagExpiry, TagSearch  of higher layers (storage.Tx.AppendPrefix)
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
	rootAnswers

	// FirstPrefix is the first database's prefix; the tuple integers below are tags of the root.
	FirstPrefix = 32
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
	TagTimes      Tag = 20
	TagTombstones Tag = 21
	TagReplaced   Tag = 22
	TagAccess     Tag = 23
	TagUses       Tag = 24
	TagViews      Tag = 32
	TagMango      Tag = 33
	TagEventing   Tag = 34
	TagExpiry     Tag = 35
	TagSearch     Tag = 36
)

// MaxValue is the number of bytes stored in one value; what is longer is cut into chunks. It leaves
// room below FoundationDB's 100,000 for what later formats may add.
const MaxValue = 90_000

func rootKey(tag int64) []byte { return tuple.AppendInt(nil, tag) }

// DatabasesPrefix is the prefix of the databases' records.
func DatabasesPrefix() []byte { return rootKey(rootDBs) }

// NextPrefixKey is the key of the counter that says which prefix the next database has.
func NextPrefixKey() []byte { return rootKey(rootNextPrefix) }

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

// AnswersPrefix is the key prefix of answers to requests with a key (package storage/answers).
func AnswersPrefix() []byte { return rootKey(rootAnswers) }

// HomeKey is the key of the identity of the cluster that the store is on (package storage/moved).
func HomeKey() []byte { return rootKey(rootHome) }

// RecordKey is the key of the record of the database with a name.
func RecordKey(name string) []byte { return tuple.AppendString(tuple.AppendInt(nil, rootDBs), name) }

// ParseRecordKey gives the name in a key of a record; kv.ErrCorrupt or an error of the tuple if
// there is none.
func ParseRecordKey(key []byte) (string, error) {
	_, rest, err := tuple.ReadInt(key)
	if err != nil {
		return "", err
	}
	name, _, err := tuple.ReadString(rest)
	return name, err
}

// Space is the key prefix of one database. Its methods append keys to dst.
type Space string

// NewSpace gives the database with a prefix.
func NewSpace(prefix int64) Space { return Space(tuple.AppendInt(nil, prefix)) }

// Sub is the prefix of a subspace.
func (s Space) Sub(dst []byte, tag Tag) []byte {
	if dst == nil {
		dst = make([]byte, 0, UsualKey)
	}
	return tuple.AppendInt(append(dst, s...), int64(tag))
}

// AfterID follows all keys of an id: the keys of lists are a subspace's prefix and an id, and a
// document's keys in TagDocs go on after that.
const AfterID = 0xff

// UsualKey is a length that most keys stay below.
const UsualKey = 96

// Stat is the key of a counter of the database.
func (s Space) Stat(dst []byte, n Stat) []byte {
	return tuple.AppendInt(s.Sub(dst, TagStats), int64(n))
}

// PartStat is the key of a counter of a partition.
func (s Space) PartStat(dst []byte, partition string, n Stat) []byte {
	return tuple.AppendInt(tuple.AppendString(s.Sub(dst, TagPartStats), partition), int64(n))
}

// AllDocs is the key of a document in the list of ids.
func (s Space) AllDocs(dst []byte, id string) []byte {
	return tuple.AppendString(s.Sub(dst, TagAllDocs), id)
}

// SeqKey is a key of TagChanges, TagTombstones or TagPurges; the 10 bytes that a commit fills in are at
// SeqStampOffset.
func (s Space) SeqKey(dst []byte, tag Tag, seq compat.Seq) []byte {
	return AppendSeq(s.Sub(dst, tag), seq)
}

// SeqStampOffset is where the versionstamp begins in a key made by SeqKey.
func (s Space) SeqStampOffset(key []byte) int { return len(key) - SeqSize + 1 }

// Doc is the common prefix of a document's keys in TagRevs, TagDocs and TagHistory.
func (s Space) Doc(dst []byte, tag Tag, id string) []byte {
	return tuple.AppendString(s.Sub(dst, tag), id)
}

// Leaf is the key of a leaf in TagRevs or TagDocs.
func (s Space) Leaf(dst []byte, tag Tag, id string, deleted bool, rev compat.Rev) []byte {
	return AppendRevision(tuple.AppendBool(s.Doc(dst, tag, id), !deleted), rev)
}

// OfEntry is the key of TagDocs of the leaf that has a key of TagRevs.
func (s Space) OfEntry(leaf []byte) []byte {
	key := s.Sub(make([]byte, 0, len(leaf)), TagDocs)
	return append(key, leaf[len(s.Sub(nil, TagRevs)):]...)
}

// History is the key of the entry of a replaced revision.
func (s Space) History(dst []byte, id string, rev compat.Rev) []byte {
	return AppendRevision(s.Doc(dst, TagHistory, id), rev)
}

// Local is the key of a local document.
func (s Space) Local(dst []byte, id string) []byte {
	return tuple.AppendString(s.Sub(dst, TagLocal), id)
}

// Attachment is the key of a blob in TagAttRefs or TagAttPending, and the prefix of its chunks in
// TagAtt.
func (s Space) Attachment(dst []byte, tag Tag, ref string) []byte {
	return tuple.AppendBytes(s.Sub(dst, tag), ref)
}

// Rank is the prefix of a level of a rank index, of which 1 is the lowest.
func (s Space) Rank(dst []byte, tag Tag, level int) []byte {
	return tuple.AppendInt(s.Sub(dst, tag), int64(level))
}

// SeqLevel is the prefix of the blocks of sequences of a level, of which 0 is the lowest.
func (s Space) SeqLevel(dst []byte, level int) []byte {
	return tuple.AppendInt(s.Sub(dst, TagSeqBlocks), int64(level+1))
}

// SeqBlock is the key of the block of a level that begins at a sequence.
func (s Space) SeqBlock(dst []byte, level int, begin compat.Seq) []byte {
	return AppendSeq(s.SeqLevel(dst, level), begin)
}

// CountFolded is the key of the sequence up to which the log of counts is folded.
func (s Space) CountFolded(dst []byte) []byte { return tuple.AppendInt(s.Sub(dst, TagCountLog), 0) }

// CountLog is the prefix of the entries of the log of counts.
func (s Space) CountLog(dst []byte) []byte { return tuple.AppendInt(s.Sub(dst, TagCountLog), 1) }

// ParseLeafKey reads what follows the document's prefix in a key of TagRevs or TagDocs; rest is a
// chunk number, in TagRevs.
func ParseLeafKey(suffix []byte) (deleted bool, rev compat.Rev, rest []byte, err error) {
	live, rest, err := tuple.ReadBool(suffix)
	if err != nil {
		return false, compat.Rev{}, nil, Corrupt("leaf key", err)
	}
	rev, rest, err = ParseRevision(rest)
	return !live, rev, rest, err
}

// PartitionOf is the partition of a document in a partitioned database; design documents have none.
func PartitionOf(id string) (string, bool) {
	if strings.HasPrefix(id, "_") {
		return "", false
	}
	name, _, ok := strings.Cut(id, ":")
	return name, ok
}

// AppendRevision appends a revision as it is in keys: (depth, hash).
func AppendRevision(dst []byte, rev compat.Rev) []byte {
	return tuple.AppendBytes(tuple.AppendInt(dst, rev.Pos), rev.Hash)
}

// ParseRevision reads what AppendRevision has written, and gives what follows; kv.ErrCorrupt if it
// is no revision.
func ParseRevision(suffix []byte) (compat.Rev, []byte, error) {
	pos, rest, err := tuple.ReadInt(suffix)
	if err != nil {
		return compat.Rev{}, nil, Corrupt("revision key", err)
	}
	hash, rest, err := tuple.ReadBytes(rest)
	if err != nil {
		return compat.Rev{}, nil, Corrupt("revision key", err)
	}
	return compat.Rev{Pos: pos, Hash: string(hash)}, rest, nil
}

// SeqSize is the length of a sequence in keys and values: incarnation and versionstamp.
const SeqSize = 1 + len(compat.Seq{}.Versionstamp)

// AppendSeq appends a sequence as it is stored.
func AppendSeq(dst []byte, seq compat.Seq) []byte {
	return append(append(dst, seq.Incarnation), seq.Versionstamp[:]...)
}

// ParseSeq reads the sequence that b, a value or a key, ends with; kv.ErrCorrupt if b is too short.
func ParseSeq(b []byte) (seq compat.Seq, err error) {
	if len(b) < SeqSize {
		return seq, Corrupt("sequence", nil)
	}
	b = b[len(b)-SeqSize:]
	seq.Incarnation = b[0]
	copy(seq.Versionstamp[:], b[1:])
	return seq, nil
}

// Children gives begin and end of the tuple key and of all keys that extend it by further elements.
// (A range of all keys with the prefix would be wrong: an element that ends in the key may go on
// with an escaped zero byte in another one.)
func Children(key []byte) (begin, end []byte) {
	return key, append(key[:len(key):len(key)], 0xff)
}

// Corrupt makes the kv.ErrCorrupt of stored bytes that this program never writes.
func Corrupt(what string, err error) error {
	if err == nil {
		return fmt.Errorf("storage: malformed %s: %w", what, kv.ErrCorrupt)
	}
	return fmt.Errorf("storage: malformed %s: %v: %w", what, err, kv.ErrCorrupt)
}
