# What a database can be asked to do.
action "sizes" {
  description = "how large its databases are"
  changes     = false
  output      = "json"
  user        = "postgres"
  command     = ["psql", "-XAtc", "SELECT json_agg(json_build_object('database', datname, 'bytes', pg_database_size(oid))) FROM pg_database"]
}
