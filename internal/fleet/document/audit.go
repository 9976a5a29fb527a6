package document

// AuditPageFormat is the format of AuditPage.
const AuditPageFormat = "fettle.fleet.audit/1"

// AuditPage is a part of the audit log of one hub.
type AuditPage struct {
	Format string `json:"format"`
	Hub    string `json:"hub"` // the hub whose log it is
	// Offset is the position of the first record in the log, in bytes, and Next is the position
	// after the last record. A line of the log is a record and a line break.
	Offset int64 `json:"offset"`
	Next   int64 `json:"next"`
	// Records are lines of JSON, exactly as in the log. Each contains the digest of the previous
	// one.
	Records []string `json:"records"`
	// Entries are the records of an organization, the oldest first. Its users get these instead of records.
	Entries []AuditEntry `json:"entries,omitempty"`
}

// AuditEntry describes a record of an organization: an operation of one of its users, or on one of its targets. For an
// operation of another user, fields are empty that can contain names of others.
type AuditEntry struct {
	At         int64  `json:"at"`
	User       string `json:"user"`
	Credential string `json:"credential,omitempty"`
	Operation  string `json:"operation"`
	Object     string `json:"object,omitempty"`
	Outcome    string `json:"outcome"`
	Reason     string `json:"reason,omitempty"`
	From       string `json:"from,omitempty"`
}
