package keyspace

import (
	"fmt"
	"strings"

	"github.com/settee-db/settee/storage/kv/tuple"
)

// subspaceNames are the subspaces of a database.
var subspaceNames = map[Tag]string{
	TagSecurity: "security", TagStats: "counters", TagAllDocs: "ids",
	TagChanges: "feed", TagRevs: "revisions", TagDocs: "bodies",
	TagHistory: "replaced bodies", TagLocal: "local documents", TagAtt: "bytes",
	TagAttRefs: "references to bytes", TagAttPending: "bytes that are uploaded",
	TagPurges: "purges", TagPartStats: "counters of partitions", TagRankIDs: "ranks of ids",
	TagSeqBlocks: "blocks of the feed", TagLastSeq: "last sequence",
	TagPurgeSeq: "last purge", TagCountLog: "log of counts",
	TagDesigns: "last change of design documents", TagTimes: "times of commits", TagViews: "views",
	TagTombstones: "deleted documents", TagReplaced: "times of replaced bodies",
	TagUses:  "uses of indexes",
	TagMango: "indexes over all fields", TagEventing: "origins", TagExpiry: "expiries",
	TagSearch: "full-text indexes",
}

// rootNames are what is outside of databases, by the prefix of its keys.
var rootNames = []struct {
	prefix []byte
	name   string
}{
	{HeadKey(), "head of the store"},
	{JobsPrefix(), "jobs"},
	{EventingPrefix(), "event functions"},
	{ExpiryPrefix(), "expiries"},
	{NodesPrefix(), "nodes"},
	{SettingsPrefix(), "settings"},
	{LoginsPrefix(), "failed logins"},
	{AnswersPrefix(), "kept answers"},
}

// KeyName describes a key in words, for logs: the number of its database, the subspace, and the
// first text in it, as an id of a document is.
func KeyName(key []byte) string {
	prefix, rest, err := tuple.ReadInt(key)
	if err != nil {
		return fmt.Sprintf("%.60q", key)
	}
	if prefix < FirstPrefix {
		for _, r := range rootNames {
			if strings.HasPrefix(string(key), string(r.prefix)) {
				return r.name
			}
		}
		return "databases" + keyText(rest)
	}
	tag, rest, err := tuple.ReadInt(rest)
	if err != nil {
		return fmt.Sprintf("database %d", prefix)
	}
	name := subspaceNames[Tag(tag)]
	if name == "" {
		name = fmt.Sprint("subspace ", tag)
	}
	return fmt.Sprintf("database %d, %s%s", prefix, name, keyText(rest))
}

// keyText is the text that a key begins with, if it does.
func keyText(key []byte) string {
	if s, _, err := tuple.ReadString(key); err == nil {
		return fmt.Sprintf(" %.100q", s)
	}
	return ""
}
