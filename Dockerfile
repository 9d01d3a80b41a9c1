# The page and the program in a container:
#
#   docker build -t tabia .
#   docker run --rm -p 5001:5001 tabia                                 # then open http://localhost:5001
#   docker run --rm -i tabia uci --player human,elo=1500               # a UCI engine
#   docker run --rm -v "$PWD:/work" -w /work tabia model info net.onnx
FROM rust:1.95-bookworm AS build
COPY --from=node:20-bookworm-slim /usr/local/bin/node /usr/local/bin/node
COPY --from=node:20-bookworm-slim /usr/local/lib/node_modules /usr/local/lib/node_modules
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
WORKDIR /tabia
COPY . .
# The page is embedded into the program.
RUN cargo xtask web && cargo build --release --locked --package tabia

FROM debian:bookworm-slim
COPY --from=build /tabia/target/release/tabia /usr/local/bin/tabia
COPY --from=build /tabia/LICENSE /usr/share/doc/tabia/copyright
RUN useradd --create-home tabia
USER tabia
WORKDIR /home/tabia
EXPOSE 5001
ENTRYPOINT ["tabia"]
CMD ["serve", "--bind", "0.0.0.0"]
