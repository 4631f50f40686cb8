# rpc-playbooks as an image: docs/deploy.md, "In a container". BASE has Node 20 or later, npm and apt-get.
ARG BASE=node:22-bookworm-slim

FROM ${BASE} AS packages
WORKDIR /opt/rpc-playbooks
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund

FROM ${BASE}
# ssh reads ssh_config, and reaches jump hosts; the library gives it an entry in passwd for any user; openssl signs certificates.
RUN apt-get update && apt-get install -y --no-install-recommends openssh-client libnss-wrapper openssl && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/rpc-playbooks
COPY --from=packages /opt/rpc-playbooks/node_modules node_modules
COPY . .
# Compiles once, as root: the image's user reads the result and cannot change it.
RUN ln -s /opt/rpc-playbooks/lib/start/rpc-playbooks.mjs /usr/local/bin/rpc-playbooks && \
    rpc-playbooks deploy --help >/dev/null && \
    mkdir -p /project && chmod 0777 /project
# Not root: --user gives it the number of whoever owns the project folder.
ENV HOME=/tmp NODE_ENV=production
USER 1000:1000
WORKDIR /project
ENTRYPOINT ["/opt/rpc-playbooks/templates/container/entrypoint.sh"]
CMD ["--help"]
