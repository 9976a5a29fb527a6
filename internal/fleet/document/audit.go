package document

// AuditPageFormat is the format of AuditPage.
const AuditPageFormat = "fettle.fleet.audit/1"

// AuditPage is a part of the audit log of one hub.
type AuditPage struct {
	Format string `json:"format"`
	Hub    string `json:"hub"` // whose log it is
	// Offset is the place of the first record in the log, in bytes, and Next that behind the
	// last: a line of the log is a record and a line break.
	Offset int64 `json:"offset"`
	Next   int64 `json:"next"`
	// Records are lines of JSON, exactly as they stand in the log: each has the digest of the
	// one before.
	Records []string `json:"records"`
}
