# PostgreSQL: a primary, or a standby of one.
variable "postgres_version" {
  type    = string
  default = "15"
}
variable "postgres_primary" {
  type        = string
  default     = null
  description = "the host that this one follows; null: it is the primary"
}
variable "postgres_settings" {
  type    = map(string)
  default = {}
  merge   = "shallow"
}
variable "postgres_memory" {
  type        = number
  default     = 16
  description = "GiB that PostgreSQL may count on"
}
variable "databases" {
  type    = map(string)
  default = { shop = "shop", reports = "reports" }
}

locals {
  etc = "/etc/postgresql/${var.postgres_version}/main"
  settings = merge({
    effective_cache_size       = "${floor(var.postgres_memory * 3 / 4)}GB"
    listen_addresses           = "'*'"
    log_min_duration_statement = "500ms"
    maintenance_work_mem       = "${floor(var.postgres_memory * 64)}MB"
    max_connections            = "300"
    max_wal_senders            = "5"
    password_encryption        = "'scram-sha-256'"
    shared_buffers             = "${floor(var.postgres_memory / 4)}GB"
    wal_level                  = "replica"
  }, var.postgres_settings)
}

package "postgres" {
  names = ["postgresql-${var.postgres_version}", "postgresql-client-${var.postgres_version}", "prometheus-postgres-exporter"]
}
file "settings" {
  path    = "${local.etc}/conf.d/shop.conf"
  content = join("", [for k, v in local.settings : "${k} = ${v}\n"])
  owner   = "postgres"
  group   = "postgres"
  after   = [package.postgres]
  notify  = [service.postgresql.restart]
}
file "hba" {
  path     = "${local.etc}/pg_hba.conf"
  template = "templates/pg_hba.conf.tmpl"
  vars     = { databases = var.databases }
  owner    = "postgres"
  group    = "postgres"
  mode     = "0640"
  after    = [package.postgres]
  notify   = [service.postgresql.reload]
}
service "postgresql" {
  enabled = true
  running = true
}

# The primary has the databases; a standby gets them from it.
block "primary" {
  when = var.postgres_primary == null
  exec "role" {
    for_each = var.databases
    name     = "role ${each.value}"
    command  = ["createuser", each.value]
    unless   = ["psql", "-d", "postgres", "-c", "SET ROLE ${each.value}"]
    undo     = ["dropuser", each.value]
    user     = "postgres"
    after    = [service.postgresql]
  }
  exec "database" {
    for_each = var.databases
    name     = "database ${each.key}"
    command  = ["createdb", "-O", each.value, each.key]
    unless   = ["psql", "-d", each.key, "-c", ""]
    undo     = ["dropdb", each.key]
    user     = "postgres"
    after    = [exec.role]
  }
}
file "standby" {
  when    = var.postgres_primary != null
  path    = "${local.etc}/conf.d/standby.conf"
  content = "primary_conninfo = 'host=${coalesce(var.postgres_primary, "-")} user=replication sslmode=verify-full'\nhot_standby = on\n"
  owner   = "postgres"
  group   = "postgres"
  mode    = "0640"
  after   = [package.postgres]
  notify  = [service.postgresql.restart]
}

file "/etc/default/prometheus-postgres-exporter" {
  content = "DATA_SOURCE_NAME='user=prometheus host=/run/postgresql dbname=postgres'\n"
  after   = [package.postgres]
  notify  = [service.prometheus-postgres-exporter.restart]
}
service "prometheus-postgres-exporter" {
  enabled = true
  running = true
}
check "postgres" {
  tcp = "127.0.0.1:5432"
}
