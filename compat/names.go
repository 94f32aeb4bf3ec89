package compat

import (
	"strings"
	"unicode/utf8"
)

// The prefixes of documents that are not ordinary.
const (
	DesignPrefix = "_design/"
	LocalPrefix  = "_local/"
)

// IsDesignID reports whether id is that of a design document.
func IsDesignID(id string) bool { return strings.HasPrefix(id, DesignPrefix) }

// IsLocalID reports whether id is that of a local document.
func IsLocalID(id string) bool { return strings.HasPrefix(id, LocalPrefix) }

const (
	maxFileName    = 255                                // bytes of one path segment of a file name
	databaseSuffix = len(".1234567890") + len(".couch") // what CouchDB adds to a database's last segment
)

// shardMap is the database of shards, which each CouchDB has (mem3:shards).
const shardMap = "_dbs"

// ValidateDatabaseName checks the name of a database to be created: illegal_database_name, or
// database_name_too_long for what the real server could not keep in a file
// (couch_db:validate_dbname, fabric_db_create), or file_exists for the one that it always has.
func ValidateDatabaseName(name string) error {
	if !legalDatabaseName(name) && !IsSystemDatabase(name) {
		return NewError(KindIllegalDatabaseName, "Name: '"+name+"'. Only lowercase characters (a-z), digits (0-9), "+
			"and any of the characters _, $, (, ), +, -, and / are allowed. Must begin with a letter.")
	}
	if name == shardMap {
		return ErrFileExists
	}
	segment := 0
	for i := 0; i <= len(name); i++ {
		last := i == len(name)
		if last {
			segment += databaseSuffix
		}
		if last || name[i] == '/' {
			if segment > maxFileName {
				return NewError(KindDatabaseNameTooLong, "At least one path segment of `"+name+"` is too long.")
			}
			segment = 0
			continue
		}
		segment++
	}
	return nil
}

// legalDatabaseName is ^[a-z][a-z0-9_$()+/-]*$.
func legalDatabaseName(name string) bool {
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	for i := 1; i < len(name); i++ {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte("_$()+/-", c) < 0 {
			return false
		}
	}
	return true
}

// IsSystemDatabase reports whether name is that of a system database, alone or below a legal name:
// `_users`, `a/_users` (couch_db:is_system_db_name).
func IsSystemDatabase(name string) bool {
	prefix, base := "", name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		prefix, base = name[:i], name[i+1:]
		if !legalDatabaseName(prefix) {
			return false
		}
	}
	switch base {
	case shardMap, "_global_changes", "_metadata", "_nodes", "_replicator", "_users":
		return true
	}
	return false
}

// ValidatePartitionedName refuses to partition a system database (couch_partition:validate_dbname).
func ValidatePartitionedName(name string) error {
	if IsSystemDatabase(name) {
		return NewError(KindBadRequest, "Cannot partition a system database")
	}
	return nil
}

// IDRules are the rules for document ids, from the database and the configuration.
type IDRules struct {
	MaxLength   int  // bytes (couchdb/max_document_id_length); 0: any
	Partitioned bool // ids are partition:rest
}

// ValidateDocID checks the id of a document to be written: illegal_docid or illegal_partition
// (couch_doc:validate_docid, couch_partition:validate_docid).
func ValidateDocID(id string, rules IDRules) error {
	if err := validatePlainID(id, rules.MaxLength); err != nil {
		return err
	}
	if !rules.Partitioned || IsDesignID(id) || IsLocalID(id) {
		return nil
	}
	partition, rest, err := SplitPartition(id)
	if err != nil {
		return err
	}
	if err := ValidatePartition(partition); err != nil {
		return err
	}
	return validatePlainID(rest, rules.MaxLength)
}

// validatePlainID checks an id in the order of couch_doc:validate_docid, which decides what error
// an id gets that breaks several rules. maxLength is in bytes; 0 means no limit.
func validatePlainID(id string, maxLength int) error {
	switch {
	case id == "":
		return NewError(KindIllegalDocID, "Document id must not be empty")
	case id == DesignPrefix, id == LocalPrefix:
		return NewError(KindIllegalDocID, "Illegal document id `"+id+"`")
	case maxLength > 0 && len(id) > maxLength:
		return NewError(KindIllegalDocID, "Document id is too long")
	case !validUTF8(id):
		return NewError(KindIllegalDocID, "Document id must be valid UTF-8")
	case id[0] == '_' && !IsDesignID(id) && !IsLocalID(id):
		return NewError(KindIllegalDocID, "Only reserved document ids may start with underscore.")
	}
	return nil
}

// SplitPartition splits an id of a partitioned database at the first colon. It is all that reads
// check: illegal_docid for an id without colon (couch_partition:from_docid). Design and local
// documents have no partition; do not ask for it.
func SplitPartition(id string) (partition, rest string, err error) {
	partition, rest, ok := strings.Cut(id, ":")
	if !ok {
		return "", "", NewError(KindIllegalDocID, "Doc id must be of form partition:id")
	}
	return partition, rest, nil
}

// ValidatePartition checks the name of a partition: illegal_partition
// (couch_partition:validate_partition).
func ValidatePartition(name string) error {
	reason := ""
	switch {
	case name == "":
		reason = "Partition must not be empty"
	case name[0] == '_':
		reason = "Partition must not start with an underscore"
	case !validUTF8(name):
		reason = "Partition must be valid UTF-8"
	case strings.IndexByte(name, ':') >= 0:
		reason = "Partition must not contain a colon"
	default:
		return nil
	}
	return NewError(KindIllegalPartition, reason)
}

// ValidateAttachmentName checks the name of an attachment to be written
// (chttpd_db:validate_attachment_name).
func ValidateAttachmentName(name string) error {
	if strings.HasPrefix(name, "_") {
		return NewError(KindBadRequest, "Attachment name '"+name+"' starts with prohibited character '_'")
	}
	if !validUTF8(name) {
		return NewError(KindBadRequest, "Attachment name is not UTF-8 encoded")
	}
	return nil
}

// ReplicatorDB is the name of the replicator database that is always there.
const ReplicatorDB = "_replicator"

// IsReplicatorDB reports whether documents of a database are replications.
func IsReplicatorDB(name string) bool {
	return name == ReplicatorDB || strings.HasSuffix(name, "/"+ReplicatorDB)
}

// TrustedHeader is the request header by which a server administrator asks for replicated documents
// to be stored without asking validation functions; its value is "true".
const TrustedHeader = "X-Settee-Trusted"

// validUTF8 is couch_util:validate_utf8, which also takes encoded surrogates, some overlong forms
// and characters above U+10FFFF.
func validUTF8(s string) bool {
	if utf8.ValidString(s) {
		return true
	}
	for i := 0; i < len(s); {
		size := 0
		switch c := s[i]; {
		case c < 0x80:
			size = 1
		case c >= 194 && c <= 223:
			size = 2
		case c >= 224 && c <= 239:
			size = 3
		case c >= 240 && c <= 244:
			size = 4
		}
		if size == 0 || i+size > len(s) {
			return false
		}
		for _, c := range []byte(s[i+1 : i+size]) {
			if c < 0x80 || c > 0xBF {
				return false
			}
		}
		i += size
	}
	return true
}
