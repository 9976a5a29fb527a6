# PostgreSQL of the distribution, with databases and their owners.
fact "os_codename" { type = string }

variable "databases" {
  type        = map(string)
  default     = {}
  description = "the owner of each database"
}

variable "settings" {
  type    = map(string)
  default = { log_min_duration_statement = "500ms", shared_buffers = "128MB" }
  merge   = "shallow"
}

locals {
  version = { bookworm = "15", trixie = "17" }[fact.os_codename]
}

package "postgresql" {
  name = "postgresql-${local.version}"
}

file "settings" {
  path    = "/etc/postgresql/${local.version}/main/conf.d/site.conf"
  content = join("", [for name, value in var.settings : "${name} = '${value}'\n"])
  owner   = "postgres"
  group   = "postgres"
  after   = [package.postgresql]
  notify  = [service.postgresql.restart]
}

service "postgresql" {
  enabled = true
  running = true
}

wait_for "postgresql" {
  exec  = "pg_isready -q"
  after = [service.postgresql]
}

# undo deletes a database when its entry leaves var.databases, and when you roll back. Omit undo to
# keep the data.
exec "owner" {
  for_each = toset(values(var.databases))
  name     = "owner ${each.key}"
  command  = ["createuser", each.key]
  unless   = ["psql", "-d", "postgres", "-c", "SET ROLE ${each.key}"]
  undo     = ["dropuser", each.key]
  user     = "postgres"
  after    = [wait_for.postgresql]
}

exec "database" {
  for_each = var.databases
  name     = "database ${each.key}"
  command  = ["createdb", "-O", each.value, each.key]
  unless   = ["psql", "-d", each.key, "-c", ""]
  undo     = ["dropdb", each.key]
  user     = "postgres"
  after    = [exec.owner]
}

check "postgresql" {
  tcp = "127.0.0.1:5432"
}
