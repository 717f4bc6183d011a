// All states of the chat in the light theme of high contrast.
// req: H9
import { playStates } from "./chat_states.mjs";

await playStates("Default High Contrast Light");
