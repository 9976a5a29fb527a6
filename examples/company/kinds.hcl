# Kinds of our own, for every module.

# Somebody who works here: an account, keys, and the groups of the team.
define "person" {
  description = "Somebody who works here: an account with keys, and a home of the same form everywhere."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the account; default: the label"
  }
  variable "full_name" { type = string }
  variable "uid" {
    type        = number
    description = "the same everywhere"
    validation {
      condition     = var.uid >= 2000 && var.uid < 3000
      error_message = "People have numbers from 2000 to 2999."
    }
  }
  variable "keys" {
    type        = list(string)
    description = "public keys, one a device"
  }
  variable "groups" {
    type    = list(string)
    default = []
  }

  user "account" {
    name    = var.name
    uid     = var.uid
    comment = var.full_name
    groups  = var.groups
    shell   = "/bin/bash"
  }
  authorized_key "device" {
    for_each = toset(var.keys)
    user     = var.name
    key      = each.key
    after    = [user.account]
  }
  file "profile" {
    path    = "/home/${var.name}/.bash_aliases"
    content = "# fettle writes this file for ${var.full_name}.\nalias ll='ls -l'\nexport EDITOR=vim\n"
    owner   = var.name
    group   = var.name
  }
}

# A service of ours: a unit, its settings, and the account that it runs as.
define "daemon" {
  description = "A program of ours as a service: an account, a unit with settings in /etc/default, and the service itself."
  main        = "name"

  variable "name" { type = string }
  variable "command" { type = string }
  variable "env" {
    type    = map(string)
    default = {}
  }
  variable "memory" {
    type    = string
    default = "512M"
  }
  variable "state" {
    type        = string
    default     = null
    description = "name of a directory in /var/lib that belongs to it"
  }

  user "account" {
    name   = var.name
    system = true
    home   = "/nonexistent"
    shell  = "/usr/sbin/nologin"
  }
  directory "state" {
    when  = var.state != null
    path  = "/var/lib/${coalesce(var.state, var.name)}"
    owner = var.name
    group = var.name
    mode  = "0750"
  }
  file "settings" {
    path    = "/etc/default/${var.name}"
    content = join("", [for k, v in var.env : "${k}=${v}\n"])
    group   = var.name
    mode    = "0640"
    notify  = [service.unit.restart]
  }
  file "unit" {
    path    = "/etc/systemd/system/${var.name}.service"
    content = <<-EOT
      [Unit]
      Description=${var.name} of Example Shop
      After=network-online.target

      [Service]
      User=${var.name}
      EnvironmentFile=-/etc/default/${var.name}
      ExecStart=${var.command}
      Restart=on-failure
      MemoryMax=${var.memory}
      NoNewPrivileges=yes
      ProtectSystem=strict
      ReadWritePaths=-/var/lib/${coalesce(var.state, var.name)}

      [Install]
      WantedBy=multi-user.target
    EOT
    notify  = [service.unit.restart]
  }
  service "unit" {
    name    = var.name
    enabled = true
    running = true
  }
}
