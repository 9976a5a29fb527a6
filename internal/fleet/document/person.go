package document

// PersonRequest makes somebody known to the hub, or changes what they may do.
type PersonRequest struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles"` // read, operate, approve, admin
	// Locked keeps them out, however they prove who they are.
	Locked bool `json:"locked,omitempty"`
}

// Known is somebody whom the hub knows: a person or a program.
type Known struct {
	Name    string   `json:"name"`
	Roles   []string `json:"roles"`
	Locked  bool     `json:"locked"`
	Changed int64    `json:"changed"`
	By      string   `json:"by"`
}

// People is everybody whom the hub knows, by name.
type People struct {
	Format string  `json:"format"`
	People []Known `json:"people"`
}

// LoginRequest asks for a token with which somebody logs in.
type LoginRequest struct {
	Expires int64  `json:"expires_ns,omitempty"` // 0 is 90 days
	Note    string `json:"note,omitempty"`
}

// NewLogin is the only answer that holds the token.
type NewLogin struct {
	Format  string `json:"format"`
	Name    string `json:"name"`
	ID      string `json:"id"`
	Expires int64  `json:"expires"`
	Secret  string `json:"secret"`
}

// Login is a token of somebody, as it is known: not the token itself, which no hub keeps.
type Login struct {
	ID      string   `json:"id"` // how the token begins
	Roles   []string `json:"roles"`
	Made    int64    `json:"made"`
	By      string   `json:"by"`
	Expires int64    `json:"expires"`
	// Withdrawn is when it was, 0 for one that was not.
	Withdrawn int64  `json:"withdrawn,omitempty"`
	Note      string `json:"note,omitempty"`
}

// LoginPage is every token of somebody, the newest first.
type LoginPage struct {
	Format string  `json:"format"`
	Name   string  `json:"name"`
	Logins []Login `json:"logins"`
}
