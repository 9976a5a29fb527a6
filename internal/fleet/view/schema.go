package view

// version is the version of the schema. A file with another version is deleted and created again.
const version = 15

// Texts such as targets, modules and commits are numbers in words, because the same text is in
// thousands of rows. For the same reason, parts contains modules that assignments share, and listed
// contains lists of modules that targets share; lists finds them by their digest.
//
// statuses.lacks marks a status that was built from a partial report whose predecessor is missing.
//
// events.about is a word with the numbers of the modules whose version changed in a run, and of their
// commits. sets contains these modules and commits. A commit changes the same modules of many
// targets, so their events refer to one word. events.phrase is also a number in words, for texts that very many events
// have.
// events.duration is the run time in ns of a run that ended; 0 means unknown. events.organization is the organization
// of an event about a whole organization, such as its freeze.
//
// modules.rows contains all modules of a target, see packRows: one row per module would be three
// quarters of the file.
//
// places contains the targets that are containers, and the numbers of guests that reports leave out. guests contains
// the guests in the newest reports. See fleet.Place.
//
// checks contains the newest results of checks of scopes, of the targets that test any.
const schema = `
    CREATE TABLE words (n INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE position (seq INTEGER NOT NULL, mark BLOB NOT NULL);
    INSERT INTO position VALUES (0, x'');
    CREATE TABLE targets (target INTEGER PRIMARY KEY, name TEXT NOT NULL, gone INTEGER NOT NULL, active INTEGER NOT NULL,
        doc TEXT NOT NULL, organization TEXT NOT NULL, moved INTEGER NOT NULL);
    CREATE INDEX targets_by_organization ON targets (organization);
    CREATE INDEX targets_by_name ON targets (name);
    CREATE TABLE assignments (target INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, generation INTEGER NOT NULL, issued INTEGER NOT NULL, frozen TEXT NOT NULL, withdrawn TEXT NOT NULL, top INTEGER NOT NULL, list INTEGER NOT NULL);
    CREATE TABLE parts (n INTEGER PRIMARY KEY, module INTEGER NOT NULL, commit_ INTEGER NOT NULL, bundle INTEGER NOT NULL, doc TEXT NOT NULL UNIQUE);
    CREATE TABLE lists (list INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE);
    CREATE TABLE listed (list INTEGER NOT NULL, place INTEGER NOT NULL, module INTEGER NOT NULL, part INTEGER NOT NULL, PRIMARY KEY (list, place)) WITHOUT ROWID;
    CREATE TABLE statuses (target INTEGER PRIMARY KEY, seq INTEGER NOT NULL, at INTEGER NOT NULL, epoch INTEGER NOT NULL, generation INTEGER NOT NULL, version INTEGER NOT NULL, drift INTEGER NOT NULL, frozen TEXT NOT NULL, run INTEGER NOT NULL, changed INTEGER NOT NULL, error TEXT NOT NULL, facts INTEGER NOT NULL, lacks INTEGER NOT NULL, zone INTEGER NOT NULL);
    CREATE TABLE modules (target INTEGER PRIMARY KEY, rows BLOB NOT NULL);
    CREATE TABLE sums (target INTEGER PRIMARY KEY, modules INTEGER NOT NULL, behind INTEGER NOT NULL, states INTEGER NOT NULL, error TEXT NOT NULL, waits TEXT NOT NULL);
    CREATE TABLE checks (target INTEGER NOT NULL, scope INTEGER NOT NULL, name INTEGER NOT NULL,
        digest INTEGER NOT NULL, outcome INTEGER NOT NULL, since INTEGER NOT NULL, text TEXT NOT NULL,
        PRIMARY KEY (target, scope, name)) WITHOUT ROWID;
    CREATE INDEX checks_by_scope ON checks (scope);
    CREATE TABLE places (target INTEGER PRIMARY KEY, machine TEXT NOT NULL, container TEXT NOT NULL,
        more INTEGER NOT NULL);
    CREATE INDEX places_by_machine ON places (machine);
    CREATE TABLE guests (supervisor INTEGER NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, machine TEXT NOT NULL,
        PRIMARY KEY (supervisor, name)) WITHOUT ROWID;
    CREATE INDEX guests_by_machine ON guests (machine);
    CREATE TABLE events (seq INTEGER NOT NULL, place INTEGER NOT NULL, target INTEGER NOT NULL, hub INTEGER NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, kind INTEGER NOT NULL, module INTEGER NOT NULL, run INTEGER NOT NULL, changes INTEGER NOT NULL, text TEXT NOT NULL, error TEXT NOT NULL, by INTEGER NOT NULL, about INTEGER NOT NULL, phrase INTEGER NOT NULL, duration INTEGER NOT NULL, organization INTEGER NOT NULL, PRIMARY KEY (seq, place)) WITHOUT ROWID;
    CREATE TABLE sets (module INTEGER NOT NULL, about INTEGER NOT NULL, PRIMARY KEY (module, about)) WITHOUT ROWID;
    CREATE UNIQUE INDEX events_by_target ON events (target, hub, number);
`

// tables are the tables that are emptied when the model is created again. position is reset
// instead.
var tables = [...]string{"words", "targets", "assignments", "parts", "lists", "listed", "statuses", "modules", "sums",
	"checks", "places", "guests", "events", "sets"}
