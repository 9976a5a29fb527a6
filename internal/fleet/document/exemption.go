package document

// ExemptionPageFormat is the format of an ExemptionPage.
const ExemptionPageFormat = "fettle.fleet.exemptions/1"

// ExemptionRequest requests that targets may change outside of their windows.
type ExemptionRequest struct {
	// Select are targets, in the form of -t. Without it, the request is for all targets, also targets that enrol later.
	Select  []string `json:"select,omitempty"`
	Seconds int64    `json:"seconds"` // from the last necessary approval, at most a day
	Reason  string   `json:"reason"`
}

// Exemption lets targets change outside of their windows.
type Exemption struct {
	ID    string `json:"id"`
	State string `json:"state"` // "waiting" for approvals, "in force" or "ended"
	// Until is the end of the state, or the time at which it ended, in seconds since 1970.
	Until     int64     `json:"until"`
	Select    []string  `json:"select,omitempty"` // none: all targets
	Targets   int       `json:"targets"`          // number of selected targets; 0: all targets
	By        string    `json:"by"`
	Reason    string    `json:"reason"`
	At        int64     `json:"at"` // the time of the request, in seconds since 1970
	Seconds   int64     `json:"seconds"`
	Need      int       `json:"need"` // number of approvals that are necessary
	Approvals []Consent `json:"approvals"`
}

// Consent is the approval of a user.
type Consent struct {
	By string `json:"by"`
	At int64  `json:"at"` // seconds since 1970
}

// ExemptionPage lists exemptions, the newest first.
type ExemptionPage struct {
	Format     string      `json:"format"`
	Exemptions []Exemption `json:"exemptions"`
}
